//! Which tool a step calls, with which arguments.

use super::super::script::Script;
use super::*;

fn function(name: &str, properties: Value) -> Tool {
    let kind = Kind::Function(json!({"type": "object", "properties": properties}));
    Tool { name: name.to_owned(), namespace: None, kind }
}

/// What the first step of a script becomes for a program with these tools.
fn reply(step: &str, tools: &[Tool]) -> Reply {
    let mut conversation = Conversation { tools: tools.to_vec(), ..Conversation::default() };
    conversation.user_said("Answer request_id=\"r-17\" please");
    conversation.result("line one\nlast line\n".to_owned());
    let script: Script = format!("on *\n {step}").parse().unwrap();
    compose(&script.rules[0].turns[0], "ana", &conversation)
}

/// The only call of that reply: its name and input.
fn call(step: &str, tools: &[Tool]) -> (String, Value) {
    let reply = reply(step, tools);
    let [call] = &reply.calls[..] else { panic!("{reply:?}") };
    (call.name.clone(), call.json())
}

#[test]
fn a_command_takes_the_shape_that_the_program_offers() {
    let text = json!({"type": "string"});
    for (tool, input) in [
        (
            function("Bash", json!({"command": text, "description": text})),
            json!({"command": "ls", "description": "a step of the script"}),
        ),
        (function("bash", json!({"command": text})), json!({"command": "ls"})),
        (function("run_shell_command", json!({"command": text})), json!({"command": "ls"})),
        (
            function("exec_command", json!({"cmd": text})),
            json!({"cmd": "ls", "yield_time_ms": 30000}),
        ),
        (
            function("shell", json!({"command": {"type": "array"}})),
            json!({"command": ["bash", "-lc", "ls"]}),
        ),
    ] {
        assert_eq!(call("shell ls", std::slice::from_ref(&tool)), (tool.name, input));
    }
}

#[test]
fn a_file_is_written_by_the_tool_for_it_or_by_the_shell() {
    let text = json!({"type": "string"});
    let claude = function("Write", json!({"file_path": text, "content": text}));
    let opencode = function("write", json!({"filePath": text, "content": text}));
    let expected = json!({"file_path": "a/b", "content": "it's\n"});
    assert_eq!(call("write a/b it's", &[claude]), ("Write".to_owned(), expected));
    let expected = json!({"filePath": "a/b", "content": "it's\n"});
    assert_eq!(call("write a/b it's", &[opencode]), ("write".to_owned(), expected));
    let shell = function("bash", json!({"command": text}));
    let expected = json!({"command": "mkdir -p 'a' && printf %s 'it'\\''s\n' > 'a/b'"});
    assert_eq!(call("write a/b it's", &[shell]), ("bash".to_owned(), expected));
}

#[test]
fn a_tool_is_found_by_its_name_behind_any_prefix() {
    let step = "tool SendMessage {\"to\":\"bo\"}";
    for name in
        ["SendMessage", "mcp__team__SendMessage", "mcp_team_SendMessage", "team.SendMessage"]
    {
        let tools = [function("ReSendMessage", json!({})), function(name, json!({}))];
        assert_eq!(call(step, &tools), (name.to_owned(), json!({"to": "bo"})));
    }
    let mut spaced = function("SendMessage", json!({}));
    spaced.namespace = Some("mcp__team".to_owned());
    for step in ["tool mcp__team__SendMessage", "tool team__SendMessage", "tool SendMessage"] {
        let reply = reply(step, std::slice::from_ref(&spaced));
        assert_eq!(reply.calls[0].namespace.as_deref(), Some("mcp__team"), "{step}");
        assert_eq!(reply.calls[0].name, "SendMessage");
    }
}

#[test]
fn a_tool_that_is_not_offered_becomes_a_text_that_says_so() {
    let reply = reply("tool Fly {}", &[function("Walk", json!({}))]);
    let told = "The script calls Fly, but no such tool is offered here: Walk";
    assert_eq!((reply.say.as_deref(), reply.calls.len()), (Some(told), 0));
}

#[test]
fn tools_inside_javascript_are_called_there_or_looked_up() {
    let inside = |name: &str| Tool {
        name: name.to_owned(),
        namespace: None,
        kind: Kind::Inside("exec".to_owned()),
    };
    let host = Tool { name: "exec".to_owned(), namespace: None, kind: Kind::Freeform };
    let tools = [inside("exec_command"), inside("mcp__team__Send"), inside("apply_patch"), host];
    let code = |step: &str| {
        let (name, input) = call(step, &tools);
        assert_eq!(name, "exec");
        input.as_str().unwrap().to_owned()
    };
    let shell = code("shell ls");
    let begin =
        "const result = await tools.exec_command({\"cmd\":\"ls\",\"yield_time_ms\":30000});";
    assert!(shell.starts_with(begin), "{shell}");
    let send = code("tool Send {\"to\":\"bo\"}");
    assert!(send.contains("tools.mcp__team__Send({\"to\":\"bo\"})"), "{send}");
    let patch = code("tool apply_patch {\"input\":\"*** x\"}");
    assert!(patch.contains("tools.apply_patch(\"*** x\")"), "{patch}");
    let hidden = code("tool Hidden {\"a\":1}");
    assert!(hidden.contains("name.endsWith(\"_Hidden\")"), "{hidden}");
}

#[test]
fn pieces_of_the_conversation_fill_texts_and_arguments() {
    let said = |step: &str| reply(step, &[]).say.unwrap();
    assert_eq!(said("say {{actor}}: {{last 4}}, {{after request_id}}"), "ana: line, r-17");
    assert_eq!(said("say \"[{{last}}]\""), "[line one\nlast line]");
    assert_eq!(said("say {{unknown}} {{"), "{{unknown}} {{");
    let answer = function("Answer", json!({}));
    let step = "tool Answer {\"id\":\"{{after request_id}}\",\"list\":[\"{{last 4}}\"],\"n\":1}";
    let expected = json!({"id": "r-17", "list": ["line"], "n": 1});
    assert_eq!(call(step, &[answer]), ("Answer".to_owned(), expected));
}

#[test]
fn usage_is_the_same_for_every_reply_unless_told() {
    assert_eq!((reply("say a", &[]).usage.input, reply("say a", &[]).usage.output), (100, 10));
    let script: Script = "on *\n usage 3 4\n think Hm {{actor}}\n say a".parse().unwrap();
    let reply = compose(&script.rules[0].turns[0], "ana", &Conversation::default());
    assert_eq!((reply.usage.input, reply.usage.output), (3, 4));
    assert_eq!(reply.think.as_deref(), Some("Hm ana"));
}
