//! One value of a file: read as what its setting holds, and checked where it stands, so that a
//! mistake is told with its line.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use toml::de::{DeValue, Error, ValueDeserializer};
use toml::{Spanned, Value};

use super::BadConfig;

/// A value as a file has it.
pub(super) type Written<'a> = Spanned<DeValue<'a>>;
/// What is wrong with a value, and what to write instead.
pub(super) type Mistake = (String, String);
/// A mistake, and where in the text it begins.
pub(super) type Wrong = (usize, Mistake);
type Check = fn(&str, &str) -> Result<(), Mistake>;

const LINE_BYTES_MAX: usize = 64 * 1024;
const PATTERN_BYTES_MAX: usize = 1024;

/// What a setting can hold.
pub(super) trait Kind: Sized {
    /// What is asked of a value.
    type Rule;

    /// A path in it is from `folder`, where the file lies.
    fn read(
        name: &str,
        written: Written<'_>,
        rule: Self::Rule,
        folder: &Path,
    ) -> Result<Self, Wrong>;

    /// As it would be written in the file.
    fn written(&self) -> Value;
}

pub(super) fn parse<'de, T: Deserialize<'de>>(written: Written<'de>) -> Result<T, Wrong> {
    T::deserialize(ValueDeserializer::from(written)).map_err(|e| unreadable(&e))
}

pub(super) fn unreadable(e: &Error) -> Wrong {
    let at = e.span().map_or(0, |span| span.start);
    (at, (e.message().to_owned(), "`shipmate config --default` shows every setting".to_owned()))
}

impl Kind for bool {
    type Rule = ();

    fn read(_: &str, written: Written<'_>, (): (), _: &Path) -> Result<bool, Wrong> {
        parse(written)
    }

    fn written(&self) -> Value {
        (*self).into()
    }
}

impl Kind for u64 {
    type Rule = RangeInclusive<u64>;

    fn read(
        name: &str,
        written: Written<'_>,
        range: RangeInclusive<u64>,
        _: &Path,
    ) -> Result<u64, Wrong> {
        let at = written.span().start;
        let number = parse(written)?;
        if range.contains(&number) {
            return Ok(number);
        }
        let (low, high) = (range.start(), range.end());
        let fact = format!("{name} is {number}, and its range is {low} to {high}");
        Err((at, (fact, format!("write a number from {low} to {high}"))))
    }

    fn written(&self) -> Value {
        Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

/// In seconds, to the millisecond. The rule is how many at the most.
impl Kind for Duration {
    type Rule = f64;

    fn read(name: &str, written: Written<'_>, max: f64, _: &Path) -> Result<Duration, Wrong> {
        let at = written.span().start;
        let seconds: f64 = parse(written)?;
        if (0.0..=max).contains(&seconds) {
            return Ok(Duration::from_millis((seconds * 1000.0).round() as u64));
        }
        let fact = format!("{name} is {seconds}, and its range is 0 to {max}");
        Err((at, (fact, format!("write a number from 0 to {max}; it may have a fraction"))))
    }

    fn written(&self) -> Value {
        match self.subsec_millis() {
            0 => self.as_secs().written(),
            _ => Value::Float(self.as_millis() as f64 / 1000.0),
        }
    }
}

impl Kind for String {
    type Rule = Check;

    fn read(name: &str, written: Written<'_>, check: Check, _: &Path) -> Result<String, Wrong> {
        let at = written.span().start;
        let text: String = parse(written)?;
        check(name, &text).map_err(|mistake| (at, mistake))?;
        Ok(text)
    }

    fn written(&self) -> Value {
        self.clone().into()
    }
}

impl Kind for Vec<String> {
    type Rule = Check;

    fn read(name: &str, written: Written<'_>, check: Check, _: &Path) -> Result<Self, Wrong> {
        let lines: Vec<Spanned<String>> = parse(written)?;
        for line in &lines {
            check(name, line.get_ref()).map_err(|mistake| (line.span().start, mistake))?;
        }
        Ok(lines.into_iter().map(Spanned::into_inner).collect())
    }

    fn written(&self) -> Value {
        self.clone().into()
    }
}

/// Variables by name.
impl Kind for BTreeMap<String, String> {
    type Rule = Check;

    fn read(name: &str, written: Written<'_>, check: Check, _: &Path) -> Result<Self, Wrong> {
        let at = written.span().start;
        let table: BTreeMap<String, Spanned<String>> = parse(written)?;
        let mut found = BTreeMap::new();
        for (key, value) in table {
            if key.is_empty() || key.starts_with(|c: char| c.is_ascii_digit()) {
                let fact = format!("{name} has {key:?}, which is no name of a variable");
                return Err((at, (fact, "use letters, digits and '_'".to_owned())));
            }
            variable(name, &key).map_err(|mistake| (at, mistake))?;
            check(name, value.get_ref()).map_err(|mistake| (value.span().start, mistake))?;
            found.insert(key, value.into_inner());
        }
        Ok(found)
    }

    fn written(&self) -> Value {
        let pairs = self.iter().map(|(key, value)| (key.clone(), value.clone().into()));
        Value::Table(pairs.collect())
    }
}

/// A file, or none where the text is empty.
impl Kind for Option<PathBuf> {
    type Rule = ();

    fn read(_: &str, written: Written<'_>, (): (), folder: &Path) -> Result<Self, Wrong> {
        let file: String = parse(written)?;
        Ok((!file.is_empty()).then(|| folder.join(file)))
    }

    fn written(&self) -> Value {
        self.as_deref().map_or(String::new(), |path| path.display().to_string()).into()
    }
}

/// Each enum is its word in a file.
macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $one:ident = $word:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
        pub(crate) enum $name {
            $($(#[$about])* #[serde(rename = $word)] $one,)*
        }

        impl $name {
            pub(crate) fn word(self) -> &'static str {
                match self {
                    $($name::$one => $word,)*
                }
            }
        }

        impl $crate::config::value::Kind for $name {
            type Rule = ();

            fn read(
                _: &str,
                written: $crate::config::value::Written<'_>,
                (): (),
                _: &std::path::Path,
            ) -> Result<Self, $crate::config::value::Wrong> {
                $crate::config::value::parse(written)
            }

            fn written(&self) -> toml::Value {
                self.word().into()
            }
        }
    )*};
}

pub(super) use choices;

/// A mistake, with the line and column of a file where it stands.
pub(super) fn bad(path: &Path, text: &str, offset: usize, (fact, remedy): Mistake) -> BadConfig {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    BadConfig { place: format!("{}:{line}:{column}", path.display()), fact, remedy }
}

/// A command line, or none.
pub(super) fn any_line(name: &str, line: &str) -> Result<(), Mistake> {
    if line.len() > LINE_BYTES_MAX || line.contains('\0') {
        let fact = format!("{name} is longer than {LINE_BYTES_MAX} bytes, or holds a zero byte");
        return Err((fact, "put it into a script and name that".to_owned()));
    }
    Ok(())
}

pub(super) fn command(name: &str, line: &str) -> Result<(), Mistake> {
    if line.trim().is_empty() {
        let fact = format!("{name} holds an empty command line");
        return Err((fact, "write the command, or take the line away".to_owned()));
    }
    any_line(name, line)
}

/// The name of an environment variable, or none.
pub(super) fn variable(name: &str, variable: &str) -> Result<(), Mistake> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if variable.len() > 256 || !variable.bytes().all(plain) {
        let fact = format!("{name} is {variable:?}, which is no name of a variable");
        return Err((fact, "use letters, digits and '_'; empty for none".to_owned()));
    }
    Ok(())
}

/// What a machine of the team is called.
pub(super) fn host(name: &str, host: &str) -> Result<(), Mistake> {
    match host.parse::<shipmate_model::Name>() {
        Ok(_) => Ok(()),
        Err(_) => {
            let fact = format!("{name} holds {host:?}, which is no name of a host");
            Err((fact, "`shipmate host list` names them".to_owned()))
        }
    }
}

/// A word for a program; some mean something else already.
pub(super) fn agent_name(name: &str) -> Result<(), Mistake> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    let fits = name.len() <= 64 && name.bytes().all(plain) && !name.starts_with(['-', '_']);
    if name.is_empty() || !fits {
        let fact = format!("{name:?} cannot name an agent program");
        return Err((fact, "use letters, digits, '_' and '-', at most 64".to_owned()));
    }
    if ["command", "inline", "native"].contains(&name) {
        let fact = format!("the name {name} is taken: it is how a teammate is run");
        return Err((fact, "choose another name".to_owned()));
    }
    Ok(())
}

/// A folder or file of this machine; `~/` is the home folder.
pub(super) fn absolute(name: &str, path: &str) -> Result<(), Mistake> {
    match path.starts_with('/') || path.starts_with("~/") {
        true => any_line(name, path),
        false => Err((
            format!("{name} holds {path:?}, which begins neither with / nor with ~/"),
            "write a whole path".to_owned(),
        )),
    }
}

/// The same that the board takes, said here with its line.
pub(super) fn pattern(name: &str, pattern: &str) -> Result<(), Mistake> {
    let climbs = pattern.split('/').any(|part| part == "..");
    let bad = pattern.is_empty() || pattern.starts_with('/') || climbs;
    if bad || pattern.len() > PATTERN_BYTES_MAX || pattern.chars().any(char::is_control) {
        let fact = format!("{name} holds {pattern:?}, which is no path inside the repository");
        return Err((fact, "write a folder, a file or a glob, from its root".to_owned()));
    }
    Ok(())
}

pub(super) fn url(_: &str, url: &str) -> Result<(), Mistake> {
    match url.starts_with("nats://") || url.starts_with("tls://") {
        true => Ok(()),
        false => Err((
            format!("{url:?} is not the address of a NATS server"),
            "write nats://HOST:PORT".to_owned(),
        )),
    }
}

pub(super) fn prefix(_: &str, prefix: &str) -> Result<(), Mistake> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    match !prefix.is_empty() && prefix.len() <= 64 && prefix.bytes().all(plain) {
        true => Ok(()),
        false => Err((
            format!("{prefix:?} cannot begin a subject"),
            "use letters, digits, '_' and '-', at most 64".to_owned(),
        )),
    }
}
