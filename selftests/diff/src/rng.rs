// SPDX-License-Identifier: GPL-2.0
//! Random numbers that a seed determines for ever, on every machine.

/// A generator by additive steps and mixing (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them, or `None` if there is none.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        (!all.is_empty()).then(|| all[self.below(all.len())])
    }

    /// One of them, each as often as its weight says; not all weights are 0.
    pub fn weighted<T: Copy>(&mut self, all: &[(usize, T)]) -> T {
        let sum = all.iter().map(|(weight, _)| weight).sum();
        let mut left = self.below(sum);
        for (weight, value) in all {
            if left < *weight {
                return *value;
            }
            left -= weight;
        }
        unreachable!("the number is below the sum of the weights")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_determines_the_numbers() {
        let numbers = |seed| {
            let mut rng = Rng::new(seed);
            [rng.next(), rng.next()]
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
        assert_eq!(numbers(0)[0], 0xe220_a839_7b1d_cdaf, "the first word of seed 0");
    }

    #[test]
    fn weights_are_kept() {
        let mut rng = Rng::new(7);
        let mut seen = [0; 3];
        (0..1000).for_each(|_| seen[rng.weighted(&[(1, 0), (0, 1), (9, 2)])] += 1);
        assert_eq!(seen[1], 0);
        assert!(seen[2] > 5 * seen[0] && seen[0] > 0, "{seen:?}");
        assert_eq!(rng.pick::<u8>(&[]), None);
    }
}
