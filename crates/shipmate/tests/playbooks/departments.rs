//! Departments under an owner, from their own plan files to the sign-off, with a scripted command
//! behind every role.

use serde_json::{Value, json};

use crate::scene::Scene;

pub(crate) const DIR: &str = "phases/01-accounts";

const BACKEND: &str = r#"{"p":"01","n":"01","t":"Store","w":1,"d":[],"xd":[],"mh":{"tr":[],"ar":[],"kl":[]},"obj":"accounts are kept"}
{"id":"T1","tp":"auto","a":"Write the store","f":["lib/store.sh"],"v":"sh tests/01-01/T1.sh","done":"it keeps","spec":"a file with add and list","ts":"what was added is listed"}
{"id":"T2","tp":"auto","a":"Write the query","f":["lib/query.sh"],"td":["T1"],"v":"","done":"it finds","spec":"a file with find"}
"#;

const SECOND: &str = r#"{"p":"01","n":"02","t":"Service","w":2,"d":["01-01"],"mh":{"tr":[],"ar":[],"kl":[]},"obj":"accounts are served"}
{"id":"T1","tp":"auto","a":"Write the service","f":["lib/service.sh"],"v":"","done":"it serves","spec":"a file with serve"}
"#;

/// What everybody does, by role and subject. `verdict NAME USUAL` lets a test decide: a file
/// `$S/NAME` holds what is said, a line for each time.
pub(crate) const AGENT: &str = r#"
dir=phases/01-accounts
folder=$dir
case "$SHIPMATE_TEAM" in yolo-frontend) folder=$dir/frontend ;; yolo-uiux) folder=$dir/uiux ;; esac
verdict() {
  said=$2
  if [ -s "$S/$1" ]; then
    said=$(head -n 1 "$S/$1"); tail -n +2 "$S/$1" > "$S/$1.rest"; mv "$S/$1.rest" "$S/$1"
  fi
  printf %s "$said"
}
case "$SHIPMATE_SUBJECT" in
  "Criticise "*) put $dir/critique.jsonl '{"id":"C1","cat":"gap","sev":"minor","q":"?","ctx":"","sug":"","st":"open"}' ;;
  "Design "*) put $folder/architecture.toon 'decision: files' ;;
  "Plan "*) echo "nobody plans here" >&2; exit 1 ;;
  "Specify "*) plan=$(echo "$SHIPMATE_SUBJECT" | cut -d' ' -f3 | tr -d :)
    sed -i 's/"spec":""/"spec":"as planned"/' "$folder/$plan.plan.jsonl" ;;
  "Write failing tests for "*)
    id=$(echo "$SHIPMATE_SUBJECT" | cut -d' ' -f5 | tr -d :)
    put "tests/$id.sh" 'test -s lib/store.sh'
    echo "{\"id\":\"$id\",\"tf\":[\"tests/$id.sh\"],\"tc\":1,\"red\":true,\"desc\":\"\"}" >> $folder/test-plan.jsonl ;;
  "Write "*) put "$SHIPMATE_FILES" "$SHIPMATE_SUBJECT" ;;
  "Change what was asked for"*) echo "changed" >> lib/store.sh ;;
  "Settle the API contract"*)
    echo '{"type":"api_contract","direction":"frontend_to_backend","endpoints":[],"status":"agreed"}' >> $dir/api-contracts.jsonl ;;
  "Review the code"*) put $folder/code-review.jsonl "{\"plan\":\"01-01\",\"r\":\"$(verdict review.$SHIPMATE_TEAM approve)\",\"cycle\":1,\"dt\":\"2026-02-17\"}" ;;
  "Verify "*) put $folder/verification.jsonl "{\"tier\":\"quick\",\"r\":\"$(verdict qa.$SHIPMATE_TEAM PASS)\",\"ps\":1,\"fl\":0,\"tt\":1,\"dt\":\"2026-02-17\"}" ;;
  "Check the code"*) put $folder/qa-code.jsonl '{"r":"PASS","tests":{"ps":1,"fl":0,"sk":0},"lint":{"err":0,"warn":0},"dt":"2026-02-17"}' ;;
  "Audit "*) put $folder/security-audit.jsonl "{\"r\":\"$(verdict security PASS)\",\"findings\":0,\"critical\":0,\"dt\":\"2026-02-17\"}" ;;
  "Hand over the design") put $dir/design-handoff.jsonl "{\"type\":\"design_handoff\",\"status\":\"$(verdict handoff complete)\"}" ;;
  "Decide whether"*) put $dir/owner-decision.json "{\"decision\":\"$(verdict owner SHIP)\",\"notes\":\"good enough\"}" ;;
  *) echo "nobody knows what to do: $SHIPMATE_SUBJECT" >&2; exit 1 ;;
esac
"#;

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn backend() -> Scene {
    let plans = format!("{DIR}/01-01.plan.jsonl");
    let second = format!("{DIR}/01-02.plan.jsonl");
    Scene::new(&[(&plans, BACKEND), (&second, SECOND)], AGENT)
}

const ONE: [&str; 5] = [DIR, "--set", "departments=backend", "--set", "test-one=sh tests/{id}.sh"];

#[test]
fn a_department_goes_from_its_plans_to_the_sign_off() {
    let mut scene = backend();
    scene.run("departments", &ONE).ends(0, &["phase owner_signoff is done"]);
    assert_eq!(
        scene.phases(),
        [
            "critique done",
            "yolo-backend: architecture done",
            "yolo-backend: planning done",
            "yolo-backend: design_review done",
            "yolo-backend: test_authoring done",
            "yolo-backend: implementation done",
            "yolo-backend: code_review done",
            "yolo-backend: qa done",
            "yolo-backend: security done",
            "yolo-backend: signoff done",
            "departments done",
            "integration done",
            "owner_signoff done",
        ]
    );
    let summary = scene.landed(&format!("{DIR}/01-01.summary.jsonl"));
    assert_eq!(summary.lines().count(), 1);
    let mut summary = json_of(&summary);
    assert_eq!(summary["ch"].as_array().unwrap().len(), 2);
    for key in ["ch", "dt"] {
        summary.as_object_mut().unwrap().remove(key);
    }
    assert_eq!(
        summary,
        json!({"p":"01","n":"01","t":"Store","s":"complete","tc":2,"tt":2,
            "fm":["lib/query.sh","lib/store.sh"],"dv":[],
            "built":["Write the store","Write the query"],"tst":"red_green"})
    );
    let result = json_of(&scene.landed(&format!("{DIR}/department-result-backend.json")));
    assert_eq!(
        result,
        json!({"type":"department_result","department":"backend","phase":"01","result":"PASS",
            "plans_completed":2,"plans_total":2,"qa_result":"PASS","security_result":"PASS",
            "tdd_coverage":33})
    );
    let signoff = json_of(&scene.landed(&format!("{DIR}/owner-signoff.json")));
    assert_eq!(signoff["decision"], "SHIP");
    assert_eq!(signoff["departments_approved"], json!(["backend"]));
}
