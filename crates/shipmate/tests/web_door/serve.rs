//! How `shipmate serve` begins and ends.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::http::Request;
use crate::stage::{SHIPMATE, Serving, Stage};

#[test]
fn the_link_is_printed_first_and_leads_to_the_page() {
    let stage = Stage::new();
    let mut child = stage.command(SHIPMATE).arg("serve").stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    let link = first.strip_prefix("page: http://127.0.0.1:").unwrap();
    let (port, token) = link.split_once("/#token=").unwrap();
    assert_eq!(token.len(), 64);
    assert_eq!(lines.next().unwrap(), format!("MCP: http://127.0.0.1:{port}/mcp"));
    let page = Request::new(port.parse().unwrap(), "GET", "/").send();
    assert!(page.body.starts_with("<!doctype html>"), "{}", page.body);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_server_listens_on_loopback_alone() {
    let stage = Stage::new();
    let serving = Serving::start(&stage);
    let port = format!(":{:04X} ", serving.port);
    let listening = |table: &str| {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        let locals = text.lines().filter_map(|line| line.split_whitespace().nth(1));
        let ours = locals.filter(|local| format!("{local} ").ends_with(&port));
        ours.map(str::to_owned).collect::<Vec<_>>()
    };
    // 127.0.0.1 as the system writes it.
    assert!(listening("/proc/net/tcp").iter().all(|local| local.starts_with("0100007F:")));
    assert!(!listening("/proc/net/tcp").is_empty());
    assert_eq!(listening("/proc/net/tcp6"), [""; 0]);
}

/// Whoever lists the processes of a machine reads their arguments.
#[test]
fn the_browser_is_opened_without_the_token_in_anybodys_arguments() {
    let stage = Stage::new();
    let (programs, told) = (stage.root().join("programs"), stage.root().join("told"));
    std::fs::create_dir(&programs).unwrap();
    assert!(stage.command("mkfifo").arg(&told).status().unwrap().success());
    let opener = programs.join("xdg-open");
    let script = "#!/bin/sh\n{ echo \"$1\"; stat -c %a \"$1\"; cat \"$1\"; } > \"$TOLD\"\n";
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = stage.command(SHIPMATE);
    command.args(["--json", "serve", "--open"]).env("PATH", path).env("TOLD", &told);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: serde_json::Value = serde_json::from_str(&line).unwrap();
    let link = said["page"].as_str().unwrap();

    let mut opened = String::new();
    std::fs::File::open(&told).unwrap().read_to_string(&mut opened).unwrap();
    let mut lines = opened.lines();
    let (file, mode) = (lines.next().unwrap().to_owned(), lines.next().unwrap().to_owned());
    assert_eq!(mode, "600");
    assert!(lines.next().unwrap().contains(&format!("url={link}")), "{opened}");
    let token = link.split_once("token=").unwrap().1;
    assert!(!file.contains(token), "{file}");

    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(!std::path::Path::new(&file).exists(), "it is gone with the server");
}
