//! Team mode or task mode, and the gate in front of teams.
//!
//! In team mode teammates stay and talk; in task mode each task is done by a one-shot agent, with
//! the same scope and gates. What must hold: whatever was asked for, the answer is one of the
//! two, and whoever gets less than they asked for is told why in one line. The table is in the
//! tests.

use super::{BadConfig, Config};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TeamMode {
    Team,
    Task,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) mode: TeamMode,
    /// Why it is task mode although teams were asked for; one line.
    pub(crate) fallback_notice: Option<String>,
    /// With `auto` only: whether teams were found to be possible.
    pub(crate) auto_detected: Option<bool>,
}

/// The environment variable that has to switch teams on, if the settings ask for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch<'a> {
    NotAsked,
    Asked { name: &'a str, value: Option<&'a str> },
}

/// Set, and not `0`, `false` or empty.
fn is_on(value: Option<&str>) -> bool {
    let value = value.unwrap_or_default().trim().to_ascii_lowercase();
    !matches!(value.as_str(), "" | "0" | "false")
}

/// What stands in front of teams, if anything does. An absent `agent-teams` is no objection.
fn closed(agent_teams: Option<bool>, switch: Switch<'_>) -> Option<String> {
    if agent_teams == Some(false) {
        return Some("agent-teams is false".to_owned());
    }
    match switch {
        Switch::Asked { name, value } if !is_on(value) => Some(match value {
            None => format!("{name} is not set"),
            Some(value) => format!("{name} is {value:?}"),
        }),
        _ => None,
    }
}

/// The mode that follows from the settings. Without a `team-mode` nobody asked for teams.
pub(crate) fn resolve(
    team_mode: Option<&str>,
    agent_teams: Option<bool>,
    switch: Switch<'_>,
) -> Resolved {
    let task = |fallback_notice, auto_detected| Resolved {
        mode: TeamMode::Task,
        fallback_notice,
        auto_detected,
    };
    let auto = match team_mode {
        None | Some("task") => return task(None, None),
        Some("teammate") => false,
        Some("auto") => true,
        Some(other) => {
            let told = format!("team-mode {other:?} is none of auto, teammate and task: task mode");
            return task(Some(told), None);
        }
    };
    match closed(agent_teams, switch) {
        Some(why) => {
            task(Some(format!("{why}: task mode, one agent for each task")), auto.then_some(false))
        }
        None => Resolved {
            mode: TeamMode::Team,
            fallback_notice: None,
            auto_detected: auto.then_some(true),
        },
    }
}

impl Resolved {
    /// Who asks for task mode gets it, and needs no notice.
    pub(crate) fn asked_for_tasks() -> Resolved {
        Resolved { mode: TeamMode::Task, fallback_notice: None, auto_detected: None }
    }

    /// Settings that cannot be read ask for nothing and allow nothing.
    pub(crate) fn unreadable(bad: &BadConfig) -> Resolved {
        let notice = format!("{}: {}; task mode", bad.place, bad.fact);
        Resolved { mode: TeamMode::Task, fallback_notice: Some(notice), auto_detected: None }
    }
}

impl Config {
    /// The mode that is in force, with the environment as `get` gives it.
    pub(crate) fn mode(&self, get: impl Fn(&str) -> Option<String>) -> Resolved {
        let value = get(&self.agent_teams_env);
        resolve(Some(&self.team_mode), Some(self.agent_teams), self.switch(value.as_deref()))
    }

    /// The same for a playbook that asks for a variable of its own.
    pub(crate) fn mode_for(
        &self,
        env: Option<&str>,
        get: impl Fn(&str) -> Option<String>,
    ) -> Resolved {
        let mode = self.mode(&get);
        let Some(name) = env.filter(|_| mode.mode == TeamMode::Team) else { return mode };
        let value = get(name);
        let switch = Switch::Asked { name, value: value.as_deref() };
        resolve(Some(&self.team_mode), Some(self.agent_teams), switch)
    }

    /// Whether the team's tools are offered to sessions. Where they are not, they are not even
    /// registered: a model must not see what it may not call.
    pub(crate) fn team_tools(&self, get: impl Fn(&str) -> Option<String>) -> bool {
        let value = get(&self.agent_teams_env);
        closed(Some(self.agent_teams), self.switch(value.as_deref())).is_none()
    }

    fn switch<'a>(&'a self, value: Option<&'a str>) -> Switch<'a> {
        match self.agent_teams_env.as_str() {
            "" => Switch::NotAsked,
            name => Switch::Asked { name, value },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VARIABLE: &str = "CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS";

    fn row(team_mode: &str, agent_teams: &str, env: &str) -> String {
        let team_mode = Some(team_mode).filter(|word| !matches!(*word, "none" | "missing"));
        let agent_teams = match agent_teams {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        };
        let switch = match env {
            "-" => Switch::NotAsked,
            "no" => Switch::Asked { name: VARIABLE, value: None },
            "yes" => Switch::Asked { name: VARIABLE, value: Some("1") },
            value => Switch::Asked { name: VARIABLE, value: Some(value.trim_matches('"')) },
        };
        let found = resolve(team_mode, agent_teams, switch);
        let mode = match found.mode {
            TeamMode::Team => "teammate",
            TeamMode::Task => "task",
        };
        let auto = found.auto_detected.map_or("absent".to_owned(), |auto| auto.to_string());
        format!("{mode} {} {auto}", found.fallback_notice.is_some())
    }

    /// Columns: team mode, agent teams, the variable; mode, notice, detected.
    #[test]
    fn every_row_of_the_table_holds() {
        let table = "
            none     null   no    task     false absent
            none     null   yes   task     false absent
            missing  true   no    task     false absent
            missing  false  yes   task     false absent
            task     null   yes   task     false absent
            task     true   yes   task     false absent
            task     false  no    task     false absent
            teammate true   yes   teammate false absent
            teammate null   yes   teammate false absent
            teammate true   no    task     true  absent
            teammate false  yes   task     true  absent
            teammate false  no    task     true  absent
            auto     true   yes   teammate false true
            auto     null   yes   teammate false true
            auto     true   no    task     true  false
            auto     false  yes   task     true  false
            auto     false  no    task     true  false
        ";
        check(table);
    }

    #[test]
    fn the_edges_have_an_answer_of_their_own() {
        check(
            "
            zzz      true   yes   task     true  absent
            Auto     true   yes   task     true  absent
            auto     true   0     task     true  false
            auto     true   false task     true  false
            auto     true   FALSE task     true  false
            auto     true   \"\"  task     true  false
            auto     true   2     teammate false true
            auto     true   true  teammate false true
            teammate true   0     task     true  absent
            auto     true   -     teammate false true
            auto     null   -     teammate false true
            auto     false  -     task     true  false
            ",
        );
    }

    fn check(table: &str) {
        for line in table.trim().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(row(words[0], words[1], words[2]), words[3..].join(" "), "{line}");
        }
    }

    #[test]
    fn a_notice_names_what_stood_in_the_way() {
        let notice = |mode, teams, value| {
            let switch = Switch::Asked { name: VARIABLE, value };
            resolve(Some(mode), Some(teams), switch).fallback_notice.unwrap()
        };
        assert_eq!(
            notice("auto", true, None),
            format!("{VARIABLE} is not set: task mode, one agent for each task")
        );
        assert!(notice("auto", true, Some("0")).starts_with(&format!("{VARIABLE} is \"0\": ")));
        assert!(notice("teammate", false, Some("1")).starts_with("agent-teams is false: "));
        assert!(notice("zzz", true, Some("1")).starts_with("team-mode \"zzz\" is none of "));
    }

    #[test]
    fn teams_are_on_unless_the_settings_say_otherwise() {
        let config = Config::default();
        let unset = |_: &str| None;
        assert_eq!(config.mode(unset).mode, TeamMode::Team);
        assert!(config.team_tools(unset));
        let off = Config { agent_teams: false, ..Config::default() };
        assert!(!off.team_tools(unset));
    }

    #[test]
    fn a_playbook_may_ask_for_a_variable_of_its_own() {
        let config = Config::default();
        let of = |env: Option<&str>, value: Option<&str>| {
            config.mode_for(env, |name| value.filter(|_| name == VARIABLE).map(str::to_owned))
        };
        for (value, is_team) in [
            (None, false),
            (Some(""), false),
            (Some("0"), false),
            (Some("false"), false),
            (Some("1"), true),
            (Some("yes"), true),
        ] {
            let found = of(Some(VARIABLE), value);
            assert_eq!(found.mode == TeamMode::Team, is_team, "{value:?}");
            assert_eq!(found.fallback_notice.is_none(), is_team, "{value:?}");
        }
        assert_eq!(of(None, None).mode, TeamMode::Team);
        let task = Config { team_mode: "task".to_owned(), ..Config::default() };
        let asked = task.mode_for(Some(VARIABLE), |_| None);
        assert_eq!((asked.mode, asked.fallback_notice), (TeamMode::Task, None));
    }

    #[test]
    fn a_variable_counts_only_where_it_is_asked_for() {
        let zero = |name: &str| (name == VARIABLE).then(|| "0".to_owned());
        let one = |name: &str| (name == VARIABLE).then(|| "1".to_owned());
        assert!(Config::default().team_tools(zero));
        let asks = Config { agent_teams_env: VARIABLE.to_owned(), ..Config::default() };
        assert!(asks.team_tools(one) && !asks.team_tools(zero) && !asks.team_tools(|_| None));
        assert_eq!(asks.mode(one).mode, TeamMode::Team);
        assert_eq!(asks.mode(zero).mode, TeamMode::Task);
        // A choice of mode is no closed gate: the board can still be used.
        let task = Config { team_mode: "task".to_owned(), ..Config::default() };
        assert!(task.team_tools(|_| None));
    }

    #[test]
    fn settings_that_cannot_be_read_are_a_warning_and_task_mode() {
        let bad = BadConfig {
            place: "/w/config.toml:2:1".to_owned(),
            fact: "it makes no sense".to_owned(),
            remedy: String::new(),
        };
        let found = Resolved::unreadable(&bad);
        assert_eq!((found.mode, found.auto_detected), (TeamMode::Task, None));
        assert!(
            found.fallback_notice.unwrap().starts_with("/w/config.toml:2:1: it makes no sense")
        );
    }
}
