// SPDX-License-Identifier: GPL-2.0
//! Reads the plain values of a message, the counterpart of
//! [`Parcel`](crate::parcel::Parcel).

use crate::error::Error;

/// A position in the data of a message.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads from the start of `data`.
    pub fn new(data: &'a [u8]) -> Self {
        Reader { rest: data }
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Error> {
        if count > self.rest.len() {
            return Err(Error::Malformed("it ends too early"));
        }
        let (bytes, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(bytes)
    }

    /// A number.
    pub fn u32(&mut self) -> Result<u32, Error> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A number that may be negative.
    pub fn i32(&mut self) -> Result<i32, Error> {
        self.u32().map(|value| value as i32)
    }

    /// A text as [`Parcel::text`](crate::parcel::Parcel::text) writes it.
    pub fn text(&mut self) -> Result<String, Error> {
        let length = self.u32()? as usize;
        let text = self.bytes(length)?;
        self.bytes(length.next_multiple_of(4) - length)?;
        String::from_utf8(text.to_vec()).map_err(|_| Error::Malformed("a text is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parcel::Parcel;

    #[test]
    fn reads_what_a_parcel_wrote() {
        let mut parcel = Parcel::new();
        parcel.u32(7).text("abcde").text("").u32(u32::MAX);
        let mut reader = Reader::new(parcel.data());
        assert_eq!(reader.u32(), Ok(7));
        assert_eq!(reader.text().as_deref(), Ok("abcde"));
        assert_eq!(reader.text().as_deref(), Ok(""));
        assert_eq!(reader.i32(), Ok(-1));
        assert!(reader.u32().is_err());
    }

    #[test]
    fn refuses_lengths_beyond_the_end() {
        let mut parcel = Parcel::new();
        parcel.u32(u32::MAX).bytes(b"abc");
        assert!(Reader::new(parcel.data()).text().is_err());
    }
}
