//! The scripted model as a program: `model SCRIPT [--port N] [--record FILE]`.
//!
//! Prints its URL as the first line and serves until it is ended. The script's language is the
//! header of the library's `model` module, which `--help` prints.

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;

use shipmate_testkit::model::{Script, Server};

const USAGE: &str = "usage: model SCRIPT [--port N] [--record FILE] | model --help
SCRIPT is a file, or - for standard input. The first line printed is the URL.

For tests, beside the models' paths:
  GET  /requests?since=N             what came, as a JSON list
  GET  /await?contains=TEXT          the first request with that text, as soon as it comes
                                     (&since=N: after that number; &timeout_ms=N: 60000)
  POST /release/NAME                 lets `hold NAME` go
  POST /script                       replaces the script
  POST /meter?replies=N              the account has room for N replies, then none until it is reset
                                     (&resets_at=SECONDS: as told; &silent=1: nothing is told)
  POST /reset                        it has room again";

#[derive(Debug, Default)]
struct Options {
    script: Option<String>,
    port: u16,
    record: Option<PathBuf>,
    help: bool,
}

fn main() -> ExitCode {
    let options = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => return failed(&format!("{message}\n{USAGE}"), 2),
    };
    if options.help {
        println!("{USAGE}\n\n{}", language());
        return ExitCode::SUCCESS;
    }
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => failed(&message, 1),
    }
}

fn failed(message: &str, code: u8) -> ExitCode {
    eprintln!("{message}");
    ExitCode::from(code)
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--help" | "-h" => options.help = true,
            "--port" => {
                options.port = value()?.parse().map_err(|_| "--port needs a number".to_owned())?;
            }
            "--record" => options.record = Some(value()?.into()),
            _ if argument.starts_with("--") => return Err(format!("unknown option {argument}")),
            _ if options.script.is_none() => options.script = Some(argument),
            _ => return Err(format!("`{argument}` is one argument too many")),
        }
    }
    if options.script.is_none() && !options.help {
        return Err("which script?".to_owned());
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), String> {
    let path = options.script.as_deref().expect("the arguments were checked");
    let text = match path {
        "-" => std::io::read_to_string(std::io::stdin()),
        path => std::fs::read_to_string(path),
    };
    let text = text.map_err(|e| format!("{path} cannot be read: {e}"))?;
    let script: Script = text.parse().map_err(|e| format!("{path}: {e}"))?;
    let record = options.record.as_ref().map(|path| {
        File::create(path).map_err(|e| format!("{} cannot be written: {e}", path.display()))
    });
    let server = Server::open(script, options.port, record.transpose()?)
        .map_err(|e| format!("port {} cannot be listened on: {e}", options.port))?;
    println!("{}", server.url());
    server.serve_forever();
    Ok(())
}

/// The description of the script's language, from where it is kept.
fn language() -> String {
    let header = include_str!("../model.rs").lines().take_while(|line| line.starts_with("//!"));
    let lines = header.map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or(""));
    lines.filter(|line| !line.starts_with("```")).collect::<Vec<_>>().join("\n")
}
