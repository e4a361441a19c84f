//! `.yolo-planning/config.json`: whether a project works in teams, where it says so for another
//! program. Two of its keys are ours: `agent_teams` and `team_mode`.

use std::path::Path;

use serde_json::Value;

use super::{BadConfig, Loaded, Source};

const BYTES_MAX: u64 = 1 << 20;
pub(crate) const FILE: &str = ".yolo-planning/config.json";

impl Loaded {
    /// Reads it in the workspace, if it is there. What it leaves open stays open.
    pub(super) fn planning(&mut self, workspace: &Path) -> Result<(), BadConfig> {
        let path = workspace.join(FILE);
        let bad = |fact: String| BadConfig {
            place: path.display().to_string(),
            fact,
            remedy: "mend it: agent_teams is true or false, team_mode is a text".to_owned(),
        };
        // What lies there may have come with the repository: no link, no device, nothing endless.
        match std::fs::symlink_metadata(&path) {
            Err(_) => return Ok(()),
            Ok(there) if !there.is_file() || there.len() > BYTES_MAX => {
                return Err(bad(format!("it is no file of at most {BYTES_MAX} bytes")));
            }
            Ok(_) => {}
        }
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|e| bad(format!("it cannot be read: {e}")))?;
        let found: Value = serde_json::from_str(&text).map_err(|e| bad(format!("it is {e}")))?;
        if !found.is_object() {
            return Err(bad("it is no JSON object".to_owned()));
        }
        let mut lines = String::new();
        match found.get("agent_teams") {
            None | Some(Value::Null) => {}
            Some(Value::Bool(on)) => lines.push_str(&format!("agent-teams = {on}\n")),
            Some(other) => return Err(bad(format!("agent_teams is {other}"))),
        }
        match found.get("team_mode") {
            None | Some(Value::Null) => {}
            Some(Value::String(word)) => {
                lines.push_str(&format!("team-mode = {}\n", toml::Value::String(word.clone())));
            }
            Some(other) => return Err(bad(format!("team_mode is {other}"))),
        }
        self.layer(&path, &lines, Source::Planning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, TeamMode};
    use std::collections::BTreeMap;

    fn read(text: &str) -> Result<Loaded, String> {
        let name = format!("shipmate-planning-{}-{}", std::process::id(), text.len());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(folder.join(".yolo-planning")).unwrap();
        std::fs::write(folder.join(FILE), text).unwrap();
        let mut loaded = Loaded { config: Config::default(), sources: BTreeMap::new() };
        let read = loaded.planning(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        read.map(|()| loaded).map_err(|bad| bad.to_string())
    }

    #[test]
    fn its_two_keys_count_and_the_others_are_left_alone() {
        let loaded =
            read(r#"{"agent_teams": false, "team_mode": "teammate", "effort": 3}"#).unwrap();
        assert!(!loaded.config.agent_teams);
        assert_eq!(loaded.config.team_mode, "teammate");
        assert_eq!(loaded.source("team-mode").word(), FILE);
        let mode = loaded.config.mode(|_| None);
        assert_eq!(mode.mode, TeamMode::Task, "teams are off there");
        assert_eq!(
            mode.fallback_notice.unwrap(),
            "agent-teams is false: task mode, one agent for each task"
        );
        let task = read(r#"{"agent_teams": true, "team_mode": "task"}"#).unwrap();
        assert_eq!(task.config.mode(|_| None).mode, TeamMode::Task);
        let team = read(r#"{"agent_teams": true, "team_mode": "teammate"}"#).unwrap();
        assert_eq!(team.config.mode(|_| None).mode, TeamMode::Team);
        assert_eq!(read("{}").unwrap().config, Config::default());
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (text, fact) in [
            ("[1]", "it is no JSON object"),
            ("{\"agent_teams\":", "EOF"),
            ("{\"agent_teams\": \"yes\"}", "agent_teams is \"yes\""),
            ("{\"team_mode\": 7}", "team_mode is 7"),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(fact) && told.contains(FILE), "{told}");
        }
    }
}
