//! Programs that call themselves claude and do not behave like it: real processes, a real pipe.
//!
//! Each fake is a shell script. `hello` answers the handshake, `hear` takes a line, `say` sends
//! one, `asks` and `mcp` send requests, `end` ends a turn with a text, `child` leaves a process of
//! its own session.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::rc::Rc;

use shipmate_process::Marker;
use shipmate_programs::order::{LifeFolder, Order};
use shipmate_protocol::wire::Reply;
use shipmate_protocol::{Place, Refused};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::super::link::Line;
use super::*;

/// Far more than any fake takes.
const LIMIT: Duration = Duration::from_secs(300);

const WORDS: &str = r#"
here=$(dirname "$0")
hear() { read -r line && printf '%s\n' "$line" >> "$here/heard"; }
say() { printf '%s\n' "$1"; }
reply() {
    say '{"type":"control_response","response":{"request_id":"shipmate-1",'"$1"'}}'
}
hello() { hear; reply '"subtype":"success","response":{}'; }
asks() { say '{"type":"control_request","request_id":"'"$1"'","request":'"$2"'}'; }
mcp() { asks "$1" '{"subtype":"mcp_message","server_name":"team","message":'"$2"'}'; }
end() { say '{"type":"result","subtype":"success","is_error":false,"result":"'"$1"'"}'; }
stay() { exec tail -f /dev/null; }
child() {
    mkfifo "$here/up"
    setsid sh -c 'trap "" TERM; echo $$ >> "$0/pids"; echo > "$0/up"; exec tail -f /dev/null' \
        "$here" &
    read -r _ < "$here/up"
}
printf '%s\n' "$*" >> "$here/words"
echo $$ >> "$here/pids"
"#;

struct Fake {
    folder: PathBuf,
    agent: ClaudeAgent,
}

impl Drop for Fake {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.folder));
    }
}

impl Fake {
    fn new(script: &str) -> Fake {
        let folder = std::env::temp_dir().join(format!("shipmate-claude-{}", uuid()));
        fs::create_dir_all(&folder).unwrap();
        let program = |name: &str, text: String| {
            let path = folder.join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let claude = program("claude", format!("{WORDS}\n{script}"));
        // Stands for `shipmate exec-tree`.
        let launcher = program("launcher", "shift; exec \"$@\"".to_owned());
        let marker = Marker::new("d0", "agent", "alpha.ana@1").unwrap();
        let order: Order = serde_json::from_value(json!({
            "workspace": folder, "team": "alpha", "name": "ana", "epoch": 1, "token": "t",
            "one_shot": false, "agent": "claude", "protocol": "claude", "argv": [claude],
            "command": "", "scope": [], "tree": null, "session": "", "marker": marker.to_string(),
            "own_marker": "", "output_bytes_max": 1 << 20, "stop_grace_ms": 200, "mode": "normal",
            "program": launcher,
        }))
        .unwrap();
        let place = Place { workspace: folder.clone() };
        turn_away(&place);
        let (token, life) = (String::new(), folder.clone());
        let line = Rc::new(Line { place, token, program: launcher, life });
        let life = LifeFolder(folder.clone());
        fs::create_dir_all(life.hand()).unwrap();
        let transcript = Transcript::open(&order, &life).unwrap();
        let starter = Starter::new(&order, &life, marker);
        let mut agent = ClaudeAgent::new(Desk::new(&order, &line), starter, transcript);
        agent.handshake_within = LIMIT;
        Fake { folder, agent }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    async fn give(&mut self) -> Result<(), String> {
        let work = Work {
            team: "alpha".to_owned(),
            teammate: "ana".to_owned(),
            epoch: 1,
            task: None,
            token: None,
            scope: Vec::new(),
            role: String::new(),
            alone: false,
            gate: Vec::new(),
            plan: String::new(),
            tree: self.folder.clone(),
            feedback: None,
            conflicts: Vec::new(),
            messages: Vec::new(),
            note: Some("do it".to_owned()),
        };
        self.agent.give(&work).await.map_err(|not| not.to_string())
    }

    async fn finish(&mut self) -> Finished {
        self.agent.over().await;
        self.agent.conclude().await
    }

    /// Whether any process that said so is still there.
    fn is_alive(&self) -> bool {
        let pids = self.read("pids");
        assert!(!pids.is_empty(), "none was ever there");
        pids.lines().any(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
        })
    }
}

/// Somebody at the coordinator's socket who tells everybody that their life is over: what is asked
/// there is answered at once, and with nothing.
fn turn_away(place: &Place) {
    let socket = place.socket();
    fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let listener = tokio::net::UnixListener::bind(socket).unwrap();
    let (code, message) = (shipmate_protocol::Code::StaleTeammate, String::new());
    let refused = Refused { code, message, remedy: None };
    let line = serde_json::to_string(&Reply::Refused { id: 0, refused }).unwrap() + "\n";
    tokio::task::spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = BufReader::new(stream);
            drop(stream.read_line(&mut String::new()).await);
            drop(stream.write_all(line.as_bytes()).await);
        }
    });
}

/// On a runtime like a supervisor's.
fn run(test: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    let limited = async { tokio::time::timeout(LIMIT, test).await.expect("it hangs") };
    local.block_on(&runtime, limited);
}

#[test]
fn one_that_never_answers_is_given_up_and_ended() {
    run(async {
        // One that stands still may not even have begun by then.
        for seconds in [3, 20, 100] {
            let mut fake = Fake::new("trap '' TERM; stay");
            fake.agent.handshake_within = Duration::from_secs(seconds);
            let reason = fake.give().await.unwrap_err();
            let told = format!("did not answer within {seconds} seconds");
            assert!(reason.contains(&told), "{reason}");
            if !fake.read("pids").is_empty() {
                return assert!(!fake.is_alive());
            }
        }
        panic!("it never begins");
    });
}

#[test]
fn one_that_ends_in_the_handshake_is_quoted() {
    run(async {
        let mut fake = Fake::new("hear; echo 'error: unknown option --verbose' >&2; exit 1");
        let reason = fake.give().await.unwrap_err();
        assert!(reason.contains("unknown option --verbose"), "{reason}");
    });
}

#[test]
fn one_that_refuses_the_handshake_is_quoted() {
    run(async {
        let mut fake =
            Fake::new(r#"hear; reply '"subtype":"error","error":"no such subtype"'; stay"#);
        let reason = fake.give().await.unwrap_err();
        assert!(reason.contains("no such subtype") && reason.contains("update"), "{reason}");
        assert!(!fake.is_alive());
    });
}

#[test]
fn garbage_and_floods_and_unknown_requests_disturb_nothing() {
    run(async {
        let mut fake = Fake::new(
            r#"hello; hear
            say 'no json'; say '[1]'; say '{"type":7}'; say '{"type":"result_of_nothing"}'
            printf '\377\376\n'; say '{"type":"control_response","response":{"request_id":"who"}}'
            asks q1 '{"subtype":"elicitation"}'
            hear
            i=0
            while [ $i -lt 3000 ]; do say '{"type":"stream_event","event":{}}'; i=$((i+1)); done
            end fine; stay"#,
        );
        fake.give().await.unwrap();
        assert_eq!(fake.finish().await, Finished::Done { result: "fine".to_owned() });
        let answer = fake.read("heard");
        assert!(answer.contains(r#""error":"\"elicitation\" is not answered here""#), "{answer}");
        assert_eq!(fake.read("output.log").matches("not understood").count(), 1);
        fake.agent.stop(Duration::from_millis(100)).await;
        assert!(!fake.is_alive());
    });
}

#[test]
fn its_questions_are_answered_on_the_pipe() {
    run(async {
        let mut fake = Fake::new(
            r#"hello; hear
            mcp q1 '{"jsonrpc":"2.0","id":5,"method":"server/discover"}'
            hear
            mcp q2 '{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"Nothing"}}'
            hear
            end fine; stay"#,
        );
        fake.give().await.unwrap();
        fake.finish().await;
        let heard = fake.read("heard");
        let answer = |line: usize| -> serde_json::Value {
            serde_json::from_str(heard.lines().nth(line).unwrap()).unwrap()
        };
        let refusal = &answer(2)["response"];
        assert_eq!(refusal["response"]["mcp_response"]["error"]["code"], -32601);
        assert_eq!(refusal["request_id"], "q1");
        let call = &answer(3)["response"]["response"]["mcp_response"];
        assert_eq!((&call["id"], &call["result"]["isError"]), (&json!(6), &json!(true)));
        fake.agent.stop(Duration::from_millis(100)).await;
    });
}

#[test]
fn one_that_ignores_the_end_of_input_and_sigterm_dies_with_its_children() {
    run(async {
        let mut fake = Fake::new("hello; hear; trap '' TERM; child; end fine; stay");
        fake.give().await.unwrap();
        fake.finish().await;
        fake.agent.stop(Duration::from_millis(100)).await;
        assert!(!fake.is_alive());
    });
}

#[test]
fn one_that_ignores_an_interrupt_is_ended() {
    run(async {
        let mut fake = Fake::new("hello; hear; stay");
        fake.give().await.unwrap();
        fake.agent.cancel(Duration::from_millis(100)).await;
        assert!(matches!(fake.finish().await, Finished::Failed { .. }));
        assert!(!fake.is_alive());
    });
}

#[test]
fn one_that_dies_in_mid_turn_is_started_again_with_its_conversation() {
    run(async {
        let mut fake = Fake::new(
            r#"hello; hear; say '{"type":"system","subtype":"init","session_id":"s-1"}'
            case "$*" in *--resume*) end again; stay;; esac
            echo 'out of memory' >&2; exit 9"#,
        );
        fake.give().await.unwrap();
        let Finished::Died { reason } = fake.finish().await else { panic!() };
        assert!(reason.contains("exit code 9") && reason.contains("out of memory"), "{reason}");
        assert_eq!(fake.read("hand/session"), "s-1", "kept for a life after this");
        fake.give().await.unwrap();
        assert_eq!(fake.finish().await, Finished::Done { result: "again".to_owned() });
        let words = fake.read("words");
        assert!(words.lines().any(|start| start.contains("--resume s-1")), "{words}");
        fake.agent.stop(Duration::from_millis(100)).await;
    });
}

#[test]
fn one_that_does_not_know_its_conversation_begins_a_new_one() {
    run(async {
        let mut fake = Fake::new(
            r#"case "$*" in *--resume*)
                say '{"type":"result","errors":["No conversation found with session ID: s-0"]}'
                exit 1;;
            esac
            hello; hear; end new; stay"#,
        );
        fake.agent.session = Some("s-0".to_owned());
        fake.give().await.unwrap();
        assert_eq!(fake.finish().await, Finished::Done { result: "new".to_owned() });
        assert!(fake.read("output.log").contains("a new one begins"));
        fake.agent.stop(Duration::from_millis(100)).await;
    });
}

#[test]
fn one_that_leaves_its_output_to_a_child_is_dead_all_the_same() {
    run(async {
        let mut fake = Fake::new("hello; hear; child; exit 0");
        fake.give().await.unwrap();
        assert!(matches!(fake.finish().await, Finished::Died { .. }));
        assert!(!fake.is_alive());
    });
}

#[test]
fn one_that_closes_its_output_and_stays_is_ended() {
    run(async {
        let mut fake = Fake::new("hello; hear; exec >&-; stay");
        fake.give().await.unwrap();
        assert!(matches!(fake.finish().await, Finished::Died { .. }));
        assert!(!fake.is_alive());
    });
}
