//! What a repository seems to need: looked up in the files that its tools have, never guessed from its
//! contents. What is not clear is said, and left to the person.

mod python;

use std::collections::BTreeSet;
use std::path::Path;

use shipmate_process::regular_file::read_inside;
use shipmate_workspace::Repository;

const FILE_BYTES_MAX: usize = 1 << 20;
const IGNORED_MAX: usize = 10_000;

/// What is proposed, with the reasons for a person to judge by.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Proposal {
    pub copy: Vec<String>,
    pub setup: Vec<String>,
    pub gate: Vec<String>,
    /// Where the usual ones, in the root, are not those that count.
    pub lock_files: Vec<String>,
    /// What was found and what follows from it.
    pub found: Vec<String>,
    /// What the person has to decide.
    pub open: Vec<String>,
}

impl Proposal {
    pub fn is_empty(&self) -> bool {
        self.copy.is_empty() && self.setup.is_empty() && self.gate.is_empty()
    }

    /// What was found, with what is copied because of it.
    pub fn lines(&self) -> Vec<String> {
        let copied = (!self.copy.is_empty())
            .then(|| format!("{} ignored here: each tree gets a copy", listed(&self.copy)));
        copied.into_iter().chain(self.found.iter().cloned()).collect()
    }

    fn takes(&mut self, why: &str, setup: &[&str], gate: Option<&str>) {
        self.setup.extend(setup.iter().map(|line| (*line).to_owned()));
        self.gate.extend(gate.map(str::to_owned));
        let setup = setup.join(" && ");
        self.found.push(match (setup.is_empty(), gate) {
            (true, None) => why.to_owned(),
            (true, Some(gate)) => format!("{why}: tested by `{gate}`"),
            (false, None) => format!("{why}: set up by `{setup}`"),
            (false, Some(gate)) => format!("{why}: set up by `{setup}`, tested by `{gate}`"),
        });
    }
}

/// A checkout as it is looked at.
struct Checkout<'a> {
    root: &'a Path,
    /// Ignored files and folders, as git names them.
    ignored: Vec<String>,
    /// Committed files.
    tracked: BTreeSet<String>,
}

impl Checkout<'_> {
    fn has(&self, name: &str) -> bool {
        self.tracked.contains(name)
    }

    fn text(&self, name: &str) -> Option<String> {
        if !self.has(name) {
            return None;
        }
        let bytes = read_inside(self.root, Path::new(name), FILE_BYTES_MAX).ok()?;
        String::from_utf8(bytes).ok()
    }

    fn any(&self, is: impl Fn(&str) -> bool) -> bool {
        self.tracked.iter().any(|path| is(path))
    }
}

/// What this repository seems to need.
pub fn propose(workspace: &Path) -> Result<Proposal, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let repository = Repository::open(workspace).map_err(|e| text(&e))?;
    let head = repository.head().map_err(|e| text(&e))?;
    let files = repository.files_of(&head.commit).map_err(|e| text(&e))?;
    let ignored = repository.ignored(IGNORED_MAX).map_err(|e| text(&e))?;
    let tracked = files.into_iter().collect();
    Ok(look(&Checkout { root: workspace, ignored, tracked }))
}

fn look(checkout: &Checkout<'_>) -> Proposal {
    let mut proposal = Proposal::default();
    settings(checkout, &mut proposal);
    node(checkout, &mut proposal);
    python::look(checkout, &mut proposal);
    plain(checkout, &mut proposal);
    if proposal.gate.is_empty() {
        runners(checkout, &mut proposal);
    }
    if proposal.setup.is_empty() && proposal.gate.is_empty() && proposal.open.is_empty() {
        below(checkout, &mut proposal);
    }
    absent(&mut proposal);
    if proposal.gate.is_empty() {
        let known = "no test command was found: without a gate, work counts when it merges";
        proposal.open.push(known.to_owned());
    }
    proposal
}

/// Projects in folders of the root, where that is none itself.
fn below(checkout: &Checkout<'_>, proposal: &mut Proposal) {
    let folders: BTreeSet<&str> =
        checkout.tracked.iter().filter_map(|path| Some(path.split_once('/')?.0)).collect();
    for folder in folders {
        let prefix = format!("{folder}/");
        let own = checkout.tracked.iter().filter_map(|path| path.strip_prefix(&prefix));
        let inner = Checkout {
            root: &checkout.root.join(folder),
            ignored: Vec::new(),
            tracked: own.map(str::to_owned).collect(),
        };
        let mut found = Proposal::default();
        node(&inner, &mut found);
        python::look(&inner, &mut found);
        plain(&inner, &mut found);
        let line = |line: &String| format!("cd {} && {line}", quoted(folder));
        proposal.setup.extend(found.setup.iter().map(line));
        proposal.gate.extend(found.gate.iter().map(line));
        let say = |text: String| format!("in {prefix}: {text}");
        proposal.found.extend(found.found.into_iter().map(say));
        proposal.open.extend(found.open.into_iter().map(say));
        if !found.setup.is_empty() {
            let lock = super::LOCK_FILES.iter().filter(|name| inner.has(name));
            proposal.lock_files.extend(lock.map(|name| format!("{prefix}{name}")));
        }
    }
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Tools of the commands that are not to be found here.
fn absent(proposal: &mut Proposal) {
    for tool in not_installed(proposal.setup.iter().chain(&proposal.gate)) {
        proposal.open.push(format!("{tool} is not in your PATH: install it before you run a team"));
    }
}

/// What the first command of a line calls, as far as a line is a plain one: a word of the shell's own, a path
/// and what the line itself puts into PATH are none.
pub fn not_installed<'a>(lines: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let program = |line: &String| {
        let last = line.split(" && ").find(|part| !part.starts_with("cd "))?;
        let word = last.split_whitespace().find(|word| !word.contains('='))?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_+.".contains(c);
        let sets_path = line.contains("PATH=") || line.contains("activate");
        (word.chars().all(is_name) && !SHELLS_OWN.contains(&word) && !sets_path)
            .then(|| word.to_owned())
    };
    lines.filter_map(program).filter(|tool| !is_installed(tool)).collect()
}

/// Words that a shell may begin a command with, and that are no program.
const SHELLS_OWN: [&str; 45] = [
    ".", "alias", "bash", "builtin", "case", "cd", "command", "declare", "disown", "echo", "eval",
    "exec", "exit", "export", "false", "for", "function", "hash", "if", "jobs", "kill", "let",
    "local", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift",
    "shopt", "source", "test", "time", "trap", "true", "type", "ulimit", "umask", "unset", "until",
    "wait", "while",
];

fn is_installed(tool: &str) -> bool {
    let path = shipmate_process::environment::var("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// Files with local settings, which are ignored and in use.
fn settings(checkout: &Checkout<'_>, proposal: &mut Proposal) {
    let own = |path: &String| {
        let name = path.rsplit('/').next().unwrap_or(path);
        // An agent program's own are the person's: what it may do, and hooks of a session.
        let is_programs = [".claude/", ".codex/", ".gemini/", ".opencode/", ".shipmate/"]
            .iter()
            .any(|folder| path.starts_with(folder));
        let is_settings = name == ".env"
            || name.starts_with(".env.")
            || name == ".dev.vars"
            || name == "local.settings.json"
            || name.ends_with(".local.json")
            || name.ends_with(".local.yaml")
            || name.ends_with(".local.yml")
            || name.ends_with(".local.toml");
        let whole = checkout.root.join(path);
        let is_inside = whole.canonicalize().is_ok_and(|real| real.starts_with(checkout.root));
        is_settings
            && !is_programs
            && !path.contains("node_modules/")
            && (is_inside || !whole.is_symlink())
    };
    let found: Vec<String> = checkout.ignored.iter().filter(|path| own(path)).cloned().collect();
    proposal.copy = found;
    let examples = [".env.example", ".env.sample", ".env.template", ".env.dist"];
    let example = examples.into_iter().find(|name| checkout.has(name));
    if let Some(example) = example.filter(|_| !checkout.root.join(".env").exists()) {
        let text =
            format!("{example} is there and no .env: where tests need one, make it and init again");
        proposal.open.push(text);
    }
}

fn listed(names: &[String]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}

/// How npm and its like install and test.
struct Manager {
    lock: &'static [&'static str],
    install: &'static str,
    test: &'static str,
}

const MANAGERS: [Manager; 4] = [
    Manager {
        lock: &["pnpm-lock.yaml"],
        install: "pnpm install --frozen-lockfile",
        test: "pnpm test",
    },
    Manager {
        lock: &["bun.lock", "bun.lockb"],
        install: "bun install --frozen-lockfile",
        test: "bun run test",
    },
    Manager { lock: &["yarn.lock"], install: "yarn install --frozen-lockfile", test: "yarn test" },
    Manager {
        lock: &["package-lock.json", "npm-shrinkwrap.json"],
        install: "npm ci",
        test: "npm test",
    },
];

fn node(checkout: &Checkout<'_>, proposal: &mut Proposal) {
    let Some(text) = checkout.text("package.json") else { return };
    let Ok(package) = serde_json::from_str::<serde_json::Value>(&text) else {
        proposal.open.push("package.json cannot be read as JSON".to_owned());
        return;
    };
    let locked = MANAGERS.iter().find_map(|one| {
        let lock = one.lock.iter().find(|lock| checkout.has(lock))?;
        Some((one, *lock))
    });
    let needs = ["dependencies", "devDependencies", "optionalDependencies", "workspaces"];
    let has = |name: &&str| match &package[*name] {
        serde_json::Value::Object(entries) => !entries.is_empty(),
        serde_json::Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    let is_berry = package["packageManager"].as_str().is_some_and(|text| {
        text.strip_prefix("yarn@").is_some_and(|version| !version.starts_with("1."))
    }) || checkout.has(".yarnrc.yml");
    let (why, install, test) = match locked {
        Some((one, lock)) if one.test == "yarn test" && is_berry => {
            (format!("package.json and {lock}"), "yarn install --immutable", one.test)
        }
        Some((one, lock)) => (format!("package.json and {lock}"), one.install, one.test),
        None => ("package.json without a lock file".to_owned(), "npm install", "npm test"),
    };
    let needs_install = needs.iter().any(has);
    let script =
        package["scripts"]["test"].as_str().filter(|line| !line.contains("no test specified"));
    let test = script.map(|line| match line.contains("react-scripts test") {
        // It watches for ever unless it is told not to.
        true => format!("CI=true {test}"),
        false => test.to_owned(),
    });
    let watches = script.and_then(|line| watching(&package["scripts"], line));
    if let Some(line) = &watches {
        let ends = package["scripts"].as_object().into_iter().flatten().find(|(name, other)| {
            let other = other.as_str().unwrap_or_default();
            name.starts_with("test:") && watching(&package["scripts"], other).is_none()
        });
        let ends = ends.map_or(String::new(), |(name, _)| {
            format!(", such as `{}`", test_script(install, name))
        });
        proposal.open.push(format!(
            "the test script watches and never ends (`{line}`): write one that ends into gate.commands{ends}"
        ));
    }
    let test = test.filter(|_| watches.is_none());
    if script.is_none() {
        proposal.open.push("package.json has no test script".to_owned());
    }
    let install: Vec<&str> = needs_install.then_some(install).into_iter().collect();
    proposal.takes(&why, &install, test.as_deref());
}

fn test_script(install: &str, name: &str) -> String {
    let tool = install.split(' ').next().unwrap_or("npm");
    format!("{tool} run {name}")
}

/// The line that goes on for ever, of a script or of one that it runs.
fn watching(scripts: &serde_json::Value, line: &str) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_off = |word: &&str| ["--no-watch", "--watch=false", "--watchAll=false"].contains(word);
    if words.iter().any(is_off) {
        return None;
    }
    let is_watch =
        |word: &&str| ["--watch", "--watchAll", "--watch-all", "watch", "nodemon"].contains(word);
    if words.iter().any(is_watch) {
        return Some(line.to_owned());
    }
    let runs = words.windows(2).find(|pair| pair[0] == "run").map(|pair| pair[1])?;
    let other = scripts[runs].as_str().filter(|other| *other != line)?;
    // One step: what calls itself around a corner is nobody's.
    let is_plain = !other.split_whitespace().any(|word| word == "run");
    is_plain.then(|| watching(scripts, other)).flatten()
}

/// Languages whose one tool installs by itself, or with one command.
fn plain(checkout: &Checkout<'_>, proposal: &mut Proposal) {
    if checkout.has("Cargo.toml") {
        proposal.takes("Cargo.toml", &[], Some("cargo test"));
        let is_ignored =
            checkout.text(".gitignore").is_some_and(|text| text.contains("Cargo.lock"));
        if !checkout.has("Cargo.lock") && !is_ignored {
            let text = "Cargo.lock is neither committed nor ignored: commit it or ignore it, or you are \
                        asked about it with each task";
            proposal.open.push(text.to_owned());
        }
    }
    if checkout.has("go.mod") {
        proposal.takes("go.mod", &[], Some("go test ./..."));
    }
    if checkout.has("Gemfile") {
        let gate = match checkout.any(|path| path.starts_with("spec/")) {
            true => Some("bundle exec rspec"),
            false => checkout.has("Rakefile").then_some("bundle exec rake test"),
        };
        proposal.takes("Gemfile", &["bundle install"], gate);
    }
    if checkout.has("composer.json") {
        let gate = checkout.has("phpunit.xml.dist") || checkout.has("phpunit.xml");
        proposal.takes(
            "composer.json",
            &["composer install"],
            gate.then_some("vendor/bin/phpunit"),
        );
    }
    if checkout.has("mix.exs") {
        proposal.takes("mix.exs", &["mix deps.get"], Some("mix test"));
    }
    if checkout.has("gradlew") {
        proposal.takes("gradlew", &[], Some("./gradlew test"));
    } else if checkout.has("mvnw") {
        proposal.takes("mvnw", &[], Some("./mvnw -q test"));
    } else if checkout.has("pom.xml") {
        proposal.takes("pom.xml", &[], Some("mvn -q test"));
    }
    if checkout.has("deno.json") || checkout.has("deno.jsonc") {
        proposal.takes("deno.json", &[], Some("deno test"));
    }
    if checkout.any(|path| path.ends_with(".sln") || path.ends_with(".csproj")) {
        proposal.takes("a .NET project", &[], Some("dotnet test"));
    }
}

/// A Makefile or justfile says by its targets what it does.
fn runners(checkout: &Checkout<'_>, proposal: &mut Proposal) {
    let files =
        [("Makefile", "make"), ("makefile", "make"), ("GNUmakefile", "make"), ("justfile", "just")];
    let found = files.into_iter().find_map(|(name, tool)| Some((name, tool, checkout.text(name)?)));
    let Some((name, tool, text)) = found else { return };
    let target = |wanted: &&str| {
        text.lines().any(|line| {
            let rest = line.strip_prefix(wanted).map(str::trim_start);
            rest.is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":="))
        })
    };
    let gate = ["test", "tests", "check"].into_iter().find(|name| target(name));
    let setup = ["setup", "bootstrap", "deps"].into_iter().find(|name| target(name));
    if gate.is_none() && setup.is_none() {
        return;
    }
    let line = |name: &str| format!("{tool} {name}");
    let setup: Vec<String> =
        setup.filter(|_| proposal.setup.is_empty()).map(line).into_iter().collect();
    let setup: Vec<&str> = setup.iter().map(String::as_str).collect();
    proposal.takes(name, &setup, gate.map(line).as_deref());
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn look_at(files: &[(&str, &str)], ignored: &[&str]) -> Proposal {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("shipmate-init-{}-{number}", std::process::id()));
        for (name, text) in files {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(&root).unwrap();
        let proposal = look(&Checkout {
            root: &root,
            ignored: ignored.iter().map(|name| (*name).to_owned()).collect(),
            tracked: files.iter().map(|(name, _)| (*name).to_owned()).collect(),
        });
        std::fs::remove_dir_all(&root).unwrap();
        proposal
    }

    pub(super) fn lines(proposal: &Proposal) -> (Vec<&str>, Vec<&str>) {
        (
            proposal.setup.iter().map(String::as_str).collect(),
            proposal.gate.iter().map(String::as_str).collect(),
        )
    }

    #[test]
    fn each_kind_of_repository_gets_its_own_commands() {
        let npm = r#"{"scripts": {"test": "node --test"}, "devDependencies": {"x": "1"}}"#;
        let found =
            look_at(&[("package.json", npm), ("package-lock.json", "{}")], &[".env", "dist/"]);
        assert_eq!(lines(&found), (vec!["npm ci"], vec!["npm test"]));
        assert_eq!(found.copy, [".env"]);

        for script in ["jest --watch", "npm run watching", "jest --watchAll --coverage"] {
            let npm = format!(
                r#"{{"scripts": {{"test": "{script}", "watching": "vitest --watch", "test:ci": "jest --ci"}}}}"#
            );
            let found = look_at(&[("package.json", &npm), ("yarn.lock", "")], &[]);
            assert_eq!(lines(&found), (vec![], vec![]), "{script}");
            assert!(found.open.iter().any(|text| text.contains("`yarn run test:ci`")), "{found:?}");
        }
        let ends = r#"{"scripts": {"test": "jest --watchAll=false"}}"#;
        assert_eq!(lines(&look_at(&[("package.json", ends)], &[])).1, ["npm test"]);

        let found = look_at(
            &[("web/package.json", npm), ("web/package-lock.json", "{}"), ("api/go.mod", "")],
            &[],
        );
        assert_eq!(
            lines(&found),
            (vec!["cd web && npm ci"], vec!["cd api && go test ./...", "cd web && npm test"])
        );
        assert_eq!(found.lock_files, ["web/package-lock.json", "web/package.json"]);
        // Whatever a set-up reads: it runs again when that changes.
        assert_eq!(python::requirements().count(), 6);
        for read in
            python::requirements().chain(["setup.py", "Gemfile", "composer.json", "mix.exs"])
        {
            let found = look_at(&[(&format!("api/{read}"), "")], &[]);
            assert_eq!(found.lock_files, [format!("api/{read}")], "{found:?}");
        }

        let bare = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
        let found = look_at(&[("package.json", bare)], &[]);
        assert_eq!(lines(&found), (vec![], vec![]));
        assert!(found.open.iter().any(|text| text.contains("no test script")), "{found:?}");

        let found = look_at(&[("package.json", npm), ("pnpm-lock.yaml", "")], &[]);
        assert_eq!(lines(&found), (vec!["pnpm install --frozen-lockfile"], vec!["pnpm test"]));

        for (lock, asks) in [("README", true), ("Cargo.lock", false)] {
            let found = look_at(&[("Cargo.toml", ""), (lock, "")], &[]);
            assert_eq!(lines(&found), (vec![], vec!["cargo test"]));
            assert_eq!(found.open.iter().any(|text| text.contains("Cargo.lock is neither")), asks);
        }
        assert_eq!(lines(&look_at(&[("go.mod", "")], &[])), (vec![], vec!["go test ./..."]));
        let make = "test: build\n\tsh t.sh\nTESTS := a\nsetup:\n\ttrue\n";
        assert_eq!(
            lines(&look_at(&[("Makefile", make)], &[])),
            (vec!["make setup"], vec!["make test"])
        );

        let found = look_at(&[("README.md", ""), (".env.example", "")], &[]);
        assert!(found.is_empty() && found.open.len() == 2, "{found:?}");

        let odd = &[("Cargo.toml", ""), ("Makefile", "")];
        let mut found = look_at(odd, &[]);
        found.gate = [
            "cd x && no-such-tool test",
            ".venv/bin/x",
            ". .venv/bin/activate && no-such-tool-either",
            "for one in a b; do no-such-tool-again; done",
            "A=b \"$TOOL\" test",
        ]
        .map(str::to_owned)
        .to_vec();
        found.open.clear();
        absent(&mut found);
        assert_eq!(
            found.open,
            ["no-such-tool is not in your PATH: install it before you run a team"]
        );
    }
}
