# What everybody does, by subject. A file $S/notes/NAME says what `verdict NAME USUAL` is, a line each time.
dir=phases/01-accounts
folder=$dir
case "$SHIPMATE_TEAM" in yolo-frontend) folder=$dir/frontend ;; yolo-uiux) folder=$dir/uiux ;; esac
verdict() {
  said=$2
  if [ -s "$S/notes/$1" ]; then
    said=$(head -n 1 "$S/notes/$1"); tail -n +2 "$S/notes/$1" > "$S/notes/$1.rest"; mv "$S/notes/$1.rest" "$S/notes/$1"
  fi
  printf %s "$said"
}
case "$SHIPMATE_SUBJECT" in
  "Criticise "*) put $dir/critique.jsonl '{"id":"C1","cat":"gap","sev":"minor","q":"?","ctx":"","sug":"","st":"open"}' ;;
  "Design "*) put $folder/architecture.toon 'decision: files' ;;
  "Plan "*) echo "nobody plans here" >&2; exit 1 ;;
  "Specify "*) test -s $folder/architecture.toon
    plan=$(echo "$SHIPMATE_SUBJECT" | cut -d' ' -f3 | tr -d :)
    sed -i 's/"spec":""/"spec":"as planned"/' "$folder/$plan.plan.jsonl" ;;
  "Write failing tests for "*)
    id=$(echo "$SHIPMATE_SUBJECT" | cut -d' ' -f5 | tr -d :)
    put "tests/$id.sh" 'test -s lib/store.sh'
    echo "{\"id\":\"$id\",\"tf\":[\"tests/$id.sh\"],\"tc\":1,\"red\":true,\"desc\":\"\"}" >> $folder/test-plan.jsonl ;;
  "Change what was asked for"*) echo "changed" >> lib/store.sh ;;
  "Settle phase code_review") put $folder/code-review.jsonl '{"plan":"01-01","r":"approve","cycle":3,"dt":"2026-02-17"}' ;;
  "Write the components") put "$SHIPMATE_FILES" '{"name":"list","status":"ready"}' ;;
  "Write the tokens") put "$SHIPMATE_FILES" '{"cat":"color","name":"ink","val":"black"}' ;;
  "Write the "*) put "$SHIPMATE_FILES" "$SHIPMATE_SUBJECT" ;;
  "Settle the API contract"*)
    echo "{\"type\":\"api_contract\",\"direction\":\"frontend_to_backend\",\"endpoints\":[],\"status\":\"$(verdict contract agreed)\"}" >> $dir/api-contracts.jsonl ;;
  "Review the code"*) put $folder/code-review.jsonl "{\"plan\":\"01-01\",\"r\":\"$(verdict review.$SHIPMATE_TEAM approve)\",\"cycle\":1,\"dt\":\"2026-02-17\"}" ;;
  "Verify "*) put $folder/verification.jsonl "{\"tier\":\"quick\",\"r\":\"$(verdict qa.$SHIPMATE_TEAM PASS)\",\"ps\":1,\"fl\":0,\"tt\":1,\"dt\":\"2026-02-17\"}" ;;
  "Check the code"*) put $folder/qa-code.jsonl '{"r":"PASS","tests":{"ps":1,"fl":0,"sk":0},"lint":{"err":0,"warn":0},"dt":"2026-02-17"}' ;;
  "Audit "*) put $folder/security-audit.jsonl "{\"r\":\"$(verdict security PASS)\",\"findings\":0,\"critical\":0,\"dt\":\"2026-02-17\"}" ;;
  "Hand over the design") put $dir/design-handoff.jsonl "{\"type\":\"design_handoff\",\"status\":\"$(verdict handoff complete)\"}" ;;
  "Decide whether"*) put $dir/owner-decision.json "{\"decision\":\"$(verdict owner SHIP)\",\"notes\":\"good enough\"}" ;;
  *) echo "nobody knows what to do: $SHIPMATE_SUBJECT" >&2; exit 1 ;;
esac
