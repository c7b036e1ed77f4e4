// SPDX-License-Identifier: GPL-2.0
//! Reads a script as [`crate::script`] prints it.

use anyhow::{anyhow, bail, Context, Result};

use crate::script::{
    Action, Actor, Buffer, Command, Count, Message, Node, Object, Read, Script, Spoil, Step,
};

/// Reads a script. Empty lines and what follows a `#` do not count.
pub fn script(text: &str) -> Result<Script> {
    let mut lines = text.lines().enumerate().filter_map(|(number, line)| {
        let line = line.split('#').next().unwrap_or("").trim();
        (!line.is_empty()).then_some((number + 1, line))
    });
    let (_, first) = lines.next().context("an empty script: expected a line `session ...`")?;
    let mut script = head(first)?;
    for (number, line) in lines {
        let step = step(line).with_context(|| format!("line {number}: {line}"))?;
        let Actor { process, thread } = step.actor;
        if process >= script.processes || thread >= script.threads {
            bail!("line {number}: the session has no {}", step.actor);
        }
        script.steps.push(step);
    }
    Ok(script)
}

fn head(line: &str) -> Result<Script> {
    let words: Vec<&str> = line.split_whitespace().collect();
    if words.first() != Some(&"session") {
        bail!("expected `session processes=N threads=N map=BYTES`, seen: {line}");
    }
    Ok(Script {
        processes: value(&words, "processes")?,
        threads: value(&words, "threads")?,
        map: value(&words, "map")?,
        steps: Vec::new(),
    })
}

/// The number after `NAME=` among the words.
fn value<T: TryFrom<u64>>(words: &[&str], name: &str) -> Result<T> {
    let text = words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    number(text.with_context(|| format!("{name}= is missing"))?)
}

fn number<T: TryFrom<u64>>(text: &str) -> Result<T> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    let parsed = parsed.with_context(|| format!("{text} is no number"))?;
    T::try_from(parsed).map_err(|_| anyhow!("{text} is too large"))
}

/// Reads one step, `pN.tN: ACTION`.
pub fn step(line: &str) -> Result<Step> {
    let (actor, action) = line.split_once(':').context("expected `pN.tN: ACTION`")?;
    let (process, thread) = actor.trim().split_once('.').context("expected pN.tN")?;
    let part = |text: &str, letter: char| {
        number(text.strip_prefix(letter).with_context(|| format!("expected {letter}N: {text}"))?)
    };
    let actor = Actor { process: part(process, 'p')?, thread: part(thread, 't')? };
    Ok(Step { actor, action: self::action(action.trim())? })
}

fn action(text: &str) -> Result<Action> {
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match words[..] {
        ["manager"] => Action::Manager,
        ["manager-ext"] => Action::ManagerExt,
        ["thread-exit"] => Action::ThreadExit,
        ["max-threads", count] => Action::MaxThreads(number(count)?),
        ["spam", "on"] => Action::Spam(true),
        ["spam", "off"] => Action::Spam(false),
        ["extended-error"] => Action::ExtendedError,
        ["bad-version"] => Action::BadVersion,
        ["poll"] => Action::Poll,
        ["flush"] => Action::Flush,
        ["close"] => Action::Close,
        ["open"] => Action::Open,
        ["unmap"] => Action::Unmap,
        ["signal"] => Action::Signal,
        ["kill"] => Action::Kill,
        ["spawn"] => Action::Spawn,
        _ => write_read(text)?,
    })
}

fn write_read(text: &str) -> Result<Action> {
    let mut commands = Vec::new();
    let mut read = Read::No;
    for part in text.split('|') {
        let words: Vec<&str> = part.split_whitespace().collect();
        if read != Read::No {
            bail!("nothing can follow the read");
        }
        match words[..] {
            ["nothing"] => {}
            ["read", size] => read = Read::Now(number(size)?),
            ["wait", size] => read = Read::Wait(number(size)?),
            _ => commands.push(command(&words)?),
        }
    }
    Ok(Action::Do(commands, read))
}

fn command(words: &[&str]) -> Result<Command> {
    Ok(match *words {
        ["call", handle, ref rest @ ..] => Command::Call(number(handle)?, message(rest)?),
        ["reply", ref rest @ ..] => Command::Reply(message(rest)?),
        ["free", name] => {
            Command::Free(Buffer::named(name).with_context(|| format!("no buffer {name}"))?)
        }
        ["death", handle, cookie] => Command::Death(number(handle)?, number(cookie)?),
        ["clear-death", handle, cookie] => Command::ClearDeath(number(handle)?, number(cookie)?),
        ["dead-done", cookie] => Command::DeadDone(number(cookie)?),
        ["enter"] => Command::Enter,
        ["register"] => Command::Register,
        ["leave"] => Command::Leave,
        [name, argument] => match name.strip_suffix("-done") {
            Some(name) => Command::Done(count(name)?, node(argument)?),
            None => Command::Count(count(name)?, number(argument)?),
        },
        _ => bail!("no command: {}", words.join(" ")),
    })
}

fn count(name: &str) -> Result<Count> {
    Count::named(name).with_context(|| format!("no command: {name}"))
}

fn node(text: &str) -> Result<Node> {
    let wrong = text.ends_with('!');
    Ok(Node { number: number(text.trim_end_matches('!'))?, wrong })
}

fn message(words: &[&str]) -> Result<Message> {
    let mut message = Message {
        code: value(words, "code")?,
        flags: value(words, "flags")?,
        size: value(words, "size")?,
        objects: Vec::new(),
        spoil: Spoil::Nothing,
    };
    for word in words {
        if let Some(name) = word.strip_prefix("spoil=") {
            message.spoil =
                Spoil::named(name).with_context(|| format!("no way to spoil: {name}"))?;
        } else if word.contains(':') {
            message.objects.push(object(word)?);
        }
    }
    Ok(message)
}

fn object(word: &str) -> Result<Object> {
    let (kind, rest) = word.split_once(':').context("expected KIND:NUMBER")?;
    Ok(match kind {
        "node" | "weak-node" => Object::Node { node: node(rest)?, strong: kind == "node" },
        "handle" | "weak-handle" => {
            Object::Handle { handle: number(rest)?, strong: kind == "handle" }
        }
        "file" if rest == "none" => Object::File(None),
        "file" => Object::File(Some(number(rest)?)),
        _ => bail!("no object: {word}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
session processes=3 threads=2 map=65536
p0.t0: manager
p0.t1: manager-ext
p1.t0: call 0 code=1 flags=0x11 size=24 node:3 weak-node:2! handle:1 weak-handle:7 file:0 file:none | free oldest | read 256
p0.t0: reply code=0 flags=0x0 size=0 spoil=odd-offset | wait 4096
p1.t1: increfs 1 | acquire 2 | release 3 | decrefs 4 | increfs-done 5 | acquire-done 6!
p1.t1: death 1 9 | clear-death 1 9 | dead-done 9 | enter | register | leave
p1.t1: nothing
p2.t0: thread-exit
p2.t0: max-threads 4
p2.t0: spam on
p2.t0: spam off
p2.t0: extended-error
p2.t0: bad-version
p2.t0: poll
p2.t0: flush
p2.t0: close
p2.t0: open
p2.t0: unmap
p2.t0: signal
p2.t0: kill
p2.t0: spawn
p2.t0: free newest | free again | free bogus | read 80
";

    #[test]
    fn what_is_printed_is_read_back() {
        assert_eq!(script(TEXT).unwrap().to_string(), TEXT);
        let commented = TEXT.replace('\n', "   # why\n\n");
        assert_eq!(script(&commented).unwrap().to_string(), TEXT);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let error = |line: &str| {
            let text = format!("session processes=1 threads=1 map=4096\n\n{line}\n");
            format!("{:#}", script(&text).unwrap_err())
        };
        assert!(error("p0.t0: jump").contains("line 3"));
        assert!(error("p1.t0: poll").contains("no p1.t0"));
        assert!(error("p0.t0: free sometime").contains("no buffer sometime"));
        assert!(error("p0.t0: read 80 | enter").contains("follow"));
        assert!(error("p0.t0: call 0 code=1 flags=0").contains("size="));
        assert!(format!("{:#}", script("poll").unwrap_err()).contains("session"));
    }
}
