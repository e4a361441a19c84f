//! What the default file says, what is refused, and which layer wins.

use super::*;

fn read(text: &str) -> Result<Loaded, String> {
    let mut loaded = Loaded { config: Config::default(), sources: BTreeMap::new() };
    let read = loaded.layer(Path::new("/w/config.toml"), text, Source::Project);
    read.map(|()| loaded).map_err(|bad| bad.to_string())
}

#[test]
fn the_default_file_states_the_defaults() {
    let uncommented: String = DEFAULT_FILE
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') => format!("{setting}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    let loaded = read(&uncommented).unwrap();
    assert_eq!(loaded.config, Config::default());
    for (setting, _) in loaded.config.entries() {
        assert_eq!(loaded.source(setting), Source::Project, "{setting} is not in the file");
    }
    assert_eq!(read(DEFAULT_FILE).unwrap().config, Config::default());
}

#[test]
fn a_mistake_is_named_with_its_line_and_remedy() {
    for (text, told) in [
        ("\nleese-seconds = 1\n", "/w/config.toml:2:1: unknown field `leese-seconds`"),
        ("[nats]\nuri = \"a\"\n", "/w/config.toml:2:1: unknown field `uri`"),
        ("lease-seconds = 0\n", "1:17: lease-seconds is 0, and its range is 1 to 86400"),
        ("durability = \"disk\"\n", "1:14: unknown variant `disk`, expected `power`"),
        ("log = \n", "/w/config.toml:1:"),
        ("lease-seconds = \"x\"\n", "1:17: invalid type: string \"x\", expected u64"),
        ("[agents]\noutput-bytes = 1\n", "2:16: agents.output-bytes is 1, and its range is 4096"),
        ("[agents]\nstop-grace-seconds = -1\n", "2:22: agents.stop-grace-seconds is -1"),
        ("[agents]\nstop-grace-seconds = nan\n", "agents.stop-grace-seconds is NaN"),
        ("agent-teams-env = \"A-B\"\n", "1:19: agent-teams-env is \"A-B\", which is no name"),
        ("agent-teams = \"true\"\n", "1:15: invalid type: string \"true\", expected a boolean"),
        ("agent-teams = \"yes\"\n", "1:15: invalid type: string \"yes\", expected a boolean"),
        ("[agents]\noutput-byte = 1\n", "2:15: invalid type: integer `1`, expected a table with"),
        ("[agents.x]\nprogramm = \"a\"\n", "2:1: unknown field `programm`"),
        ("[agents.x]\nprotocol = \"mcp\"\n", "2:12: unknown variant `mcp`, expected one of"),
        ("[agents.\"a b\"]\n", "1:9: \"a b\" cannot name an agent program"),
        ("\n[agents.command]\n", "2:9: the name command is taken"),
        ("[agents.x.env]\n\"A=B\" = \"c\"\n", "1:9: agents.x.env holds \"A=B\""),
        ("[team]\ntrees = \"none\"\n", "2:9: unknown variant `none`, expected `own` or `shared`"),
        ("[views]\nat = \"home\"\n", "2:6: unknown variant `home`, expected `state` or"),
        ("[team]\ncap = 0\n", "2:7: team.cap is 0, and its range is 1 to 1000"),
        ("[team]\nprotected = [\n \"a\",\n \"../b\"]\n", "4:2: team.protected holds \"../b\""),
        ("[gate]\ncommands = [\" \"]\n", "2:13: gate.commands holds an empty command line"),
        ("[gate]\ncommands = \"cargo test\"\n", "2:12: invalid type: string \"cargo test\""),
        ("[hooks]\nTaskComplete = []\n", "2:1: unknown field `TaskComplete`, expected one of"),
        ("[hooks]\nTaskCreated = [\"\"]\n", "2:16: hooks.TaskCreated holds an empty"),
        ("[nats]\nurl = \"http://a\"\n", "2:7: \"http://a\" is not the address"),
        ("[nats]\nsubject-prefix = \"a.b\"\n", "2:18: \"a.b\" cannot begin a subject"),
    ] {
        let refused = read(text).unwrap_err();
        assert!(refused.contains(told), "{text:?} was told {refused:?}");
        assert!(refused.contains("\n  "), "{refused:?} has no remedy");
    }
}

#[test]
fn the_environment_stands_above_the_files_and_is_checked_like_them() {
    let mut loaded = read("lease-seconds = 5\nidle-exit-seconds = 7\n").unwrap();
    let vars = [("SHIPMATE_LEASE_SECONDS", "9"), ("SHIPMATE_NATS_URL", "tls://h:1")];
    let get = |name: &str| {
        vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).to_owned())
    };
    loaded.environment(get).unwrap();
    assert_eq!(loaded.config.lease_seconds, 9);
    assert_eq!(loaded.config.idle_exit_seconds, 7);
    assert_eq!(loaded.config.nats.url, "tls://h:1");
    assert_eq!(loaded.source("lease-seconds"), Source::Environment);
    assert_eq!(loaded.source("log"), Source::Default);

    let bad = loaded.environment(|name| (name == "SHIPMATE_LOG").then(|| "files".to_owned()));
    let told = bad.unwrap_err().to_string();
    assert!(told.starts_with("the environment variable SHIPMATE_LOG: unknown variant"), "{told}");
}

#[test]
fn credentials_lie_beside_the_file_that_names_them() {
    let loaded = read("[nats]\ncredentials = \"team.creds\"\n").unwrap();
    assert_eq!(loaded.config.nats.credentials, Some("/w/team.creds".into()));
}

#[test]
fn a_list_or_a_fraction_may_come_from_the_environment() {
    let vars = [
        ("SHIPMATE_GATE_COMMANDS", "[\"cargo build\", \"cargo test\"]"),
        ("SHIPMATE_HOOKS_TASKCOMPLETED", "./check \"it\""),
        ("SHIPMATE_AGENTS_STOP_GRACE_SECONDS", "0.25"),
        ("SHIPMATE_AGENTS_DEFAULT", "true"),
    ];
    let mut loaded = read("").unwrap();
    let get =
        |name: &str| vars.iter().find(|(var, _)| *var == name).map(|(_, value)| (*value).into());
    loaded.environment(get).unwrap();
    let config = loaded.config;
    assert_eq!(config.gate.commands, ["cargo build", "cargo test"]);
    assert_eq!(config.hooks.task_completed, ["./check \"it\""]);
    assert_eq!(config.agents.stop_grace.as_millis(), 250);
    assert_eq!(config.agents.default, "true");
}

#[test]
fn a_team_is_begun_as_the_settings_say() {
    let text = "shutdown-deadline-seconds = 7\n[team]\ntrees = \"shared\"\nstall-seconds = 0\n\
                [gate]\ncommands = [\"make\"]\n";
    let setup = read(text).unwrap().config.setup();
    assert_eq!(setup.trees.as_deref(), Some("shared"));
    assert_eq!((setup.stall_ms, setup.answer_ms), (Some(0), Some(60_000)));
    assert_eq!((setup.shutdown_ms, setup.timeout_ms), (Some(7_000), None));
    assert_eq!(setup.gate, ["make"]);
    assert_eq!(setup.protected, [".shipmate/", ".github/workflows/"]);
}

#[test]
fn a_program_is_taken_from_the_nearest_file_as_a_whole() {
    let mut loaded = read("[agents.mine]\nprogram = \"a\"\nargs = [\"x\"]\n").unwrap();
    let text = "[agents]\ndefault = \"d\"\n[agents.mine]\nprogram = \"./b\"\nprotocol = \"command\"\n\
                env = { KEY = \"secret\" }\n[agents.claude]\nargs = []\n";
    loaded.layer(Path::new("/v/config.toml"), text, Source::Environment).unwrap();
    let programs = &loaded.config.agents.programs;
    let mine = &programs["mine"];
    assert_eq!((mine.program.as_str(), mine.args.as_ref()), ("/v/b", None));
    assert_eq!(
        mine.line(),
        "{ program = \"/v/b\", protocol = \"command\", env = { KEY } }",
        "what a variable holds may be a secret"
    );
    let claude = &programs["claude"];
    assert_eq!((claude.program.as_str(), claude.args.as_deref()), ("", Some(&[][..])));
    assert_eq!(loaded.config.agents.default, "d");
}

#[test]
fn a_known_program_with_another_login_is_named_by_like() {
    let second = read("[agents.claude-2]\nlike = \"claude\"\nenv = { A = \"~/b\" }\n").unwrap();
    let line = second.config.agents.programs["claude-2"].line();
    assert_eq!(line, "{ like = \"claude\", env = { A } }");
    for (text, fact) in [
        (
            "[agents.mine]\nlike = \"cluade\"",
            "agents.mine.like is \"cluade\", which is no known program",
        ),
        (
            "[agents.mine]\nlike = \"native\"",
            "agents.mine.like is \"native\", which is no known program",
        ),
        ("[agents.codex]\nlike = \"claude\"", "codex is a known program itself"),
        (
            "[agents.mine]\nlike = \"claude\"\nprotocol = \"acp\"",
            "agents.mine has both like and protocol: it is driven as claude is",
        ),
    ] {
        let refused = read(text).unwrap_err();
        assert!(refused.contains(fact), "{text}: {refused}");
    }
}
