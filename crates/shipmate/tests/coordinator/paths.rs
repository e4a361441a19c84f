//! No request makes the coordinator read a path that it names.

use std::path::Path;

use shipmate_protocol::client::TokenSource;
use shipmate_protocol::verbs::{PlaybookFile, PlaybookOrder, Setup, TeamCreate};
use shipmate_protocol::{Answer, Ask, verbs};

use super::{Workspace, refusal};

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_playbook_is_named_and_never_a_path() {
    let workspace = Workspace::new("");
    let (mut person, tokens) = workspace.team(&["ana"]);
    let mut ana = workspace.client(TokenSource::Given(tokens[0].clone()));
    let outside = workspace.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    pipe(&outside.join("pipe"));
    std::fs::write(outside.join("there.toml"), "name = 'there'\n").unwrap();
    let paths = ["pipe", "there.toml", "nothing", "nothing.toml"].map(|name| outside.join(name));
    let paths = paths.iter().map(|path| path.display().to_string());
    let paths = paths.chain(["/dev/zero", "../../etc/passwd", "x.toml"].map(str::to_owned));
    for path in paths {
        let file = PlaybookFile::named(&path);
        let parent = Some("alpha".to_owned());
        let order = PlaybookOrder { name: path.clone(), ..PlaybookOrder::default() };
        let setup = Some(Setup { playbook: Some(order), ..Setup::default() });
        let create = TeamCreate { name: "beta".to_owned(), parent, setup, ..Default::default() };
        for client in [&mut person, &mut ana] {
            let shown = refusal(client.ask(Ask::PlaybookShow(file.clone())));
            let checked = refusal(
                client.ask(Ask::PlaybookCheck(verbs::PlaybookCheck { files: vec![file.clone()] })),
            );
            for refused in [shown, checked] {
                // The same whatever lies there.
                assert_eq!(refused.code.as_str(), "UnknownPlaybook");
                assert_eq!(
                    refused.message,
                    format!("{path:?} is a path, and no request reads one")
                );
            }
        }
        let made = refusal(person.ask(Ask::TeamCreate(create.clone())));
        assert_eq!(made.code.as_str(), "UnknownPlaybook");
        let made = refusal(ana.ask(Ask::TeamCreate(create)));
        assert_eq!(
            made.code.as_str(),
            "NotAllowed",
            "whoever may not is not looked anything up for"
        );
    }
}

#[test]
fn a_playbooks_text_is_the_persons_to_give() {
    let workspace = Workspace::new("");
    let (mut person, tokens) = workspace.team(&["ana"]);
    let mut ana = workspace.client(TokenSource::Given(tokens[0].clone()));
    let Answer::Playbook(known) = ana.ask(Ask::PlaybookShow(PlaybookFile::named("board"))).unwrap()
    else {
        panic!()
    };
    let text = Some(known.toml.replace("name = \"board\"", "name = \"mine\""));
    let file = PlaybookFile { name: "somewhere/mine.toml".to_owned(), text };
    for ask in [
        Ask::PlaybookShow(file.clone()),
        Ask::PlaybookCheck(verbs::PlaybookCheck { files: vec![file.clone()] }),
    ] {
        assert_eq!(refusal(ana.ask(ask)).code.as_str(), "NotAllowed");
    }
    let Answer::Playbook(shown) = person.ask(Ask::PlaybookShow(file)).unwrap() else { panic!() };
    assert_eq!((shown.row.name.as_str(), &*shown.row.file), ("mine", "somewhere/mine.toml"));
}

#[test]
fn what_lies_in_place_of_a_playbook_holds_nobody() {
    let workspace = Workspace::new("");
    let (mut person, _) = workspace.team(&[]);
    let folder = workspace.place().project().join("playbooks");
    std::fs::create_dir(&folder).unwrap();
    pipe(&folder.join("pipe.toml"));
    std::os::unix::fs::symlink("/dev/zero", folder.join("zero.toml")).unwrap();
    std::fs::create_dir(folder.join("folder.toml")).unwrap();
    std::fs::write(folder.join("long.toml"), vec![b'#'; 2 << 20]).unwrap();
    for name in ["pipe", "zero", "folder", "long"] {
        let refused = refusal(person.ask(Ask::PlaybookShow(PlaybookFile::named(name))));
        assert_eq!(refused.code.as_str(), "UnknownPlaybook");
        assert!(refused.message.contains("cannot be read"), "{refused}");
    }
    assert!(matches!(person.ask(Ask::Status).unwrap(), Answer::Status(_)));
    let Answer::Playbooks(rows) = person.ask(Ask::Playbooks).unwrap() else { panic!() };
    let broken = rows.iter().filter(|row| row.problems > 0).count();
    assert!(broken == 4 && rows.len() > 4, "{rows:?}");
}

/// A decision comes as a message of its own kind, which the programs of teammates act on.
#[test]
fn nobody_sends_a_decision_by_hand() {
    let workspace = Workspace::new("");
    let (mut person, tokens) = workspace.team(&["ana", "bo"]);
    let mut ana = workspace.client(TokenSource::Given(tokens[0].clone()));
    for kind in
        ["shutdown_request", "plan_approval_response", "question", "answer", "notice", "work_done"]
    {
        let send = || {
            let (to, body) = ("bo".to_owned(), "forged".to_owned());
            Ask::Send(verbs::Send { to, body, kind: Some(kind.to_owned()), reply_to: None })
        };
        for client in [&mut ana, &mut person] {
            assert_eq!(refusal(client.ask(send())).code.as_str(), "NotTheirs", "{kind}");
        }
    }
}
