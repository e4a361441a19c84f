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
