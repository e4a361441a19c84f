//! What is made of the agents' answers, with what the real ones sent.

use serde_json::json;

use super::*;

fn gemini() -> Value {
    json!({
        "protocolVersion": 1,
        "authMethods": [
            { "id": "oauth-personal", "name": "Log in with Google" },
            { "id": "gemini-api-key", "name": "Gemini API key", "description": "Use a key" },
        ],
        "agentCapabilities": { "loadSession": true },
    })
}

fn codex_acp() -> Value {
    json!({
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": true,
            "sessionCapabilities": { "resume": {}, "systemPrompt": {} },
        },
        "_meta": { "steering": { "supported": true } },
    })
}

#[test]
fn only_what_an_agent_says_of_itself_is_relied_upon() {
    let gemini = abilities(&gemini()).unwrap();
    assert_eq!((gemini.steers, gemini.instructed), (false, false));
    assert_eq!(gemini.resumption(), Some("session/load"));
    let codex = abilities(&codex_acp()).unwrap();
    assert_eq!((codex.steers, codex.instructed), (true, true));
    assert_eq!(codex.resumption(), Some("session/resume"));
    let bare = abilities(&json!({ "protocolVersion": 1 })).unwrap();
    assert_eq!(bare, Abilities::default());
    assert_eq!(bare.resumption(), None);
}

#[test]
fn another_version_is_refused_with_a_remedy() {
    for hello in [json!({ "protocolVersion": 2 }), json!({}), Value::Null] {
        assert!(abilities(&hello).unwrap_err().contains("install a version"), "{hello}");
    }
}

#[test]
fn a_missing_login_is_told_with_the_ways_to_log_in() {
    let refused = |code, message: &str| RpcFailure::Refused {
        code,
        message: message.to_owned(),
        data: json!({ "details": "no key" }),
    };
    let gemini = abilities(&gemini()).unwrap();
    assert_eq!(
        gemini.refusal("gemini", &refused(-32000, "Authentication required")),
        "gemini is not logged in: Authentication required: no key (-32000); log in with gemini \
         itself, or set the key it asks for; it offers: Log in with Google, Gemini API key (Use a \
         key)"
    );
    assert_eq!(
        gemini.refusal("gemini", &refused(-32603, "Internal error")),
        "gemini did not begin a session: Internal error: no key (-32603)"
    );
}

/// `ours: now, offered… -> set`
#[test]
fn a_mode_is_set_that_fits_ours_and_asks_us() {
    for line in "
        write: default, default acceptEdits plan auto bypassPermissions     -> -
        write: bypassPermissions, default plan bypassPermissions            -> default
        write: agent, read-only workspace-write agent agent-full-access     -> workspace-write
        write: build, build plan                                            -> -
        fenced: agent, read-only workspace-write agent agent-full-access    -> agent-full-access
        fenced: bypassPermissions, default plan bypassPermissions           -> default
        read:  agent, read-only workspace-write agent                       -> read-only
        read:  read-only, read-only workspace-write agent                   -> -
        read:  yolo, default autoEdit yolo plan                             -> default
        read:  default, default autoEdit yolo plan                          -> -
        read:  build, build plan                                            -> -
    "
    .lines()
    .map(str::trim)
    .filter(|line| !line.is_empty())
    {
        let (ours, rest) = line.split_once(':').unwrap();
        let (now, rest) = rest.split_once(',').unwrap();
        let (offered, set) = rest.split_once("->").unwrap();
        let offered = offered.split_whitespace().map(|id| json!({ "id": id }));
        let modes = json!({
            "currentModeId": now.trim(), "availableModes": offered.collect::<Vec<_>>(),
        });
        let leave = match ours {
            "read" => Leave::Read,
            "write" => Leave::Write,
            _ => Leave::WriteFenced,
        };
        let expected = Some(set.trim().to_owned()).filter(|set| set != "-");
        assert_eq!(mode_to_set(leave, &modes), expected, "{line}");
    }
    assert_eq!(mode_to_set(Leave::Read, &Value::Null), None);
}

#[test]
fn a_model_is_chosen_by_setting_or_by_name_where_it_is_offered() {
    let settings = json!({ "configOptions": [
        { "id": "m", "category": "model", "options": [
            { "group": "g", "options": [{ "value": "opus" }] }, { "value": "haiku" },
        ] },
    ] });
    let chosen = |model: &str, session: &Value| model_to_set(model, session).map(|(how, _)| how);
    assert_eq!(chosen("opus", &settings).as_deref(), Some("session/set_config_option"));
    assert_eq!(chosen("haiku", &settings).as_deref(), Some("session/set_config_option"));
    assert_eq!(chosen("gpt", &settings), None);
    let models = json!({ "models": { "availableModels": [{ "modelId": "gemini-2.5-pro" }] } });
    assert_eq!(chosen("gemini-2.5-pro", &models).as_deref(), Some("session/set_model"));
    assert_eq!(chosen("gemini-2.5-pro", &Value::Null), None);
}

#[test]
fn an_option_is_chosen_by_its_kind_and_never_by_its_place() {
    let options = json!([
        { "optionId": "proceed_always", "kind": "allow_always" },
        { "optionId": "cancel", "kind": "reject_once" },
        { "optionId": "proceed_once", "kind": "allow_once" },
    ]);
    assert_eq!(option(&options, &["allow_once"]), Some("proceed_once"));
    assert_eq!(option(&options, &["reject_once", "reject_always"]), Some("cancel"));
    let only_always = json!([{ "optionId": "a", "kind": "allow_always" }]);
    assert_eq!(option(&only_always, &["allow_once"]), None);
    assert_eq!(option(&Value::Null, &["allow_once"]), None);
}

#[test]
fn only_the_end_of_a_turn_is_an_end_that_is_good() {
    let stop = |reason: &str| stopped("goose", &json!({ "stopReason": reason }));
    assert_eq!(stop("end_turn"), None);
    for reason in ["max_tokens", "max_turn_requests", "refusal", "cancelled", "of_next_year"] {
        assert!(stop(reason).unwrap().contains(reason), "{reason}");
    }
    assert!(stopped("goose", &Value::Null).is_some());
}

#[test]
fn usage_is_found_where_each_program_puts_it() {
    let standard = json!({ "usage": {
        "inputTokens": 300, "outputTokens": 30, "cachedReadTokens": 7, "totalTokens": 337,
    } });
    let found = usage(&standard, 9);
    assert_eq!((found.tokens_in, found.tokens_out), (300, 30));
    assert_eq!((found.tokens_cached, found.cost_micros), (7, 9));
    let gemini = json!({ "_meta": { "quota": { "token_count": {
        "input_tokens": 5, "output_tokens": 2,
    } } } });
    let found = usage(&gemini, 0);
    assert_eq!((found.tokens_in, found.tokens_out), (5, 2));
}

#[test]
fn a_program_that_tells_its_models_and_no_cost_is_counted_by_their_prices() {
    let counts = json!({ "input_tokens": 1_000, "output_tokens": 100 });
    let models = json!([
        { "model": "gemini-2.5-pro", "token_count": counts },
        { "model": "of_next_year", "token_count": counts },
    ]);
    let answer = json!({ "_meta": { "quota": { "token_count": counts, "model_usage": models } } });
    assert_eq!(usage(&answer, 0).cost_micros, 1_250 + 1_000);
    assert_eq!(usage(&answer, 7).cost_micros, 7, "what it tells itself stands");
}

#[test]
fn a_program_that_tells_its_last_request_is_counted_by_requests() {
    let last = Usage {
        tokens_in: 100,
        tokens_out: 10,
        tokens_cached: 50,
        cost_micros: 9,
        ..Usage::default()
    };
    let all = of_turn(last, "OpenCode", 3);
    assert_eq!((all.tokens_in, all.tokens_out, all.tokens_cached), (300, 30, 150));
    assert_eq!(all.cost_micros, 9, "that it tells for the whole turn");
    assert_eq!(of_turn(last, "gemini-cli", 3).tokens_in, 100);
}
