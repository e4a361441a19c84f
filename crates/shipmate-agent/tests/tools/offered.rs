//! What models are told of the tools, and the tools that are about the agent itself.

use serde_json::json;
use shipmate_agent::tools::{NAMES, Toolbox};

use super::scene::{Scene, on_one_thread};

fn names() -> Vec<String> {
    NAMES.map(str::to_owned).into()
}

#[test]
fn all_tools_together_are_short() {
    let scene = Scene::new();
    let offered = scene.toolbox.offered(&names());
    let names: Vec<&str> = offered.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, NAMES.into_iter().filter(|name| *name != "Skill").collect::<Vec<_>>());
    let text = serde_json::to_string(&offered).unwrap();
    // Four characters a token is what tokenizers make of JSON at the least.
    assert!(text.len() < 3_000, "{} characters", text.len());
    for tool in &offered {
        let schema = &tool.input_schema;
        assert_eq!(schema["type"], "object");
        for required in schema["required"].as_array().unwrap() {
            assert!(schema["properties"].get(required.as_str().unwrap()).is_some());
        }
    }
    assert!(scene.toolbox.offered(&["SendMessage".to_owned()]).is_empty());
}

#[test]
fn what_is_offered_is_what_is_understood() {
    on_one_thread(async {
        let scene = Scene::new();
        for tool in scene.toolbox.offered(&names()) {
            let schema = tool.input_schema["properties"].as_object().unwrap().clone();
            for name in schema.keys() {
                let said = scene.toolbox.leave(&tool.name, &json!({name: [[]]}));
                let said = said.err().unwrap_or_default();
                assert!(!said.contains("has no argument"), "{} {name}: {said}", tool.name);
            }
            let said = scene.toolbox.leave(&tool.name, &json!({"zz": 1})).unwrap_err();
            assert!(said.contains("has no argument \"zz\"; it has"), "{said}");
        }
        let said = scene.bad("rm_rf", json!({})).await;
        assert!(
            said.starts_with("there is no tool \"rm_rf\"; your own tools are bash, "),
            "{said}"
        );
    });
}

#[test]
fn only_what_changes_nothing_may_run_beside_others() {
    let reading: Vec<&str> = NAMES.into_iter().filter(|name| Toolbox::is_reading(name)).collect();
    assert_eq!(reading, ["read_file", "glob", "grep", "Skill"]);
}

#[test]
fn skills_are_offered_by_name_and_given_whole() {
    on_one_thread(async {
        let scene = Scene::new();
        assert!(scene.bad("Skill", json!({"name": "x"})).await.starts_with("there are no skills"));
        let skill = |name: &str, words: &str| {
            format!("---\nname: {name}\ndescription: {words}\n---\nDo {name}.\n")
        };
        scene.put(".shipmate/skills/release/SKILL.md", skill("release", "Makes a release"));
        scene.put(".claude/skills/release/SKILL.md", skill("release", "another"));
        scene.put(".claude/skills/test/SKILL.md", skill("test", &"long ".repeat(100)));
        scene.put(".claude/skills/empty/README", "");
        std::os::unix::fs::symlink(scene.path("state"), scene.own(".claude/skills/out")).unwrap();
        std::os::unix::fs::symlink("token", scene.path("state/SKILL.md")).unwrap();
        let offered = scene.toolbox.offered(&["Skill".to_owned()]);
        let words = &offered[0].description;
        assert!(words.contains("\nrelease: Makes a release\ntest: long long"), "{words}");
        assert!(words.len() < 300 && !words.contains("out"), "{words}");
        let text = scene.good("Skill", json!({"name": "release"})).await;
        assert!(text.ends_with("ana/.shipmate/skills/release]\nDo release."), "{text}");
        let said = scene.bad("Skill", json!({"name": "relase"})).await;
        assert_eq!(said, "there is no skill \"relase\"; there are release, test");
    });
}

#[test]
fn settings_are_the_agents_own_within_bounds_and_the_others_are_not() {
    on_one_thread(async {
        let scene = Scene::new();
        let text = scene.good("Config", json!({})).await;
        assert_eq!(
            text,
            "shell_timeout_ms = 120000 (1000 to 3600000)\noutput_bytes_max = 16384 (1024 to 262144)"
        );
        let set = json!({"key": "shell_timeout_ms", "value": "5000"});
        assert_eq!(scene.good("Config", set).await, "shell_timeout_ms = 5000, for this session");
        let text = scene.good("Config", json!({"key": "shell_timeout_ms"})).await;
        assert_eq!(text, "shell_timeout_ms = 5000");
        let runtimes = "is the runtime's, and no agent changes it: ask the lead";
        let bounds = "must be a whole number from 1000 to 3600000";
        let table = [
            (json!({"key": "mode", "value": "normal"}), runtimes),
            (json!({"key": "permission_mode"}), runtimes),
            (json!({"key": "Scope", "value": "**"}), runtimes),
            (json!({"key": "gates", "value": []}), runtimes),
            (json!({"key": "budget_usd", "value": 100}), runtimes),
            (json!({"key": "model", "value": "x"}), runtimes),
            (json!({"key": "requests_max", "value": 9}), runtimes),
            (json!({"key": "fence.off", "value": true}), runtimes),
            (json!({"key": "theme", "value": "x"}), "there is no setting \"theme\"; yours are"),
            (json!({"key": "shell_timeout_ms", "value": 1}), bounds),
            (json!({"key": "shell_timeout_ms", "value": 1e12}), bounds),
            (json!({"key": "shell_timeout_ms", "value": {}}), bounds),
            (json!({"value": 1}), "a value needs the key"),
            (json!({"key": 3}), "must be a string"),
        ];
        for (arguments, words) in table {
            let said = scene.bad("Config", arguments.clone()).await;
            assert!(said.contains(words), "{arguments}: {said}");
        }
    });
}
