//! The place of one run: a repository, a team, its plan, and the processes that carry its marker.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use shipmate_protocol::client::{Launch, TokenSource};
use shipmate_protocol::verbs::{Setup, TaskNew, TeamCreate, TeammateAdd};
use shipmate_protocol::{Answer, Ask, Client, Place, verbs};
use shipmate_testkit::Random;
use shipmate_testkit::processes::{self, Marked, kill, marked};

pub(crate) const TEAM: &str = "chaos";
const TEAMMATES: usize = 6;
/// Pairs of tasks of which one is green only after the other.
const PAIRS: usize = 2;
/// Nobody may run out of tries: what is tested is that none of them counts twice.
const RETRIES_MAX: u32 = 1000;
/// Most tasks that one task waits for.
const NEEDS_MAX: u64 = 3;

/// Says what it does in its output, changes its file, and takes its time. A part of it that is killed
/// ends it. Its subject is how long, and what else it does.
const AGENT: &str = r#"
set -e
set -- $SHIPMATE_SUBJECT
echo "begin $SHIPMATE_TASK $SHIPMATE_TASK_TOKEN"
mkdir -p out
echo "$SHIPMATE_TASK" > "out/$SHIPMATE_TASK"
case $2 in
    empty) : > "lib/$3" ;;
    drop) rm -f "use/$3" ;;
esac
sleep "$1"
echo "end $SHIPMATE_TASK $SHIPMATE_TASK_TOKEN"
"#;

/// Green when every file holds its own name, and whatever is used is not empty.
pub(crate) const GATE: &str = "for f in out/*; do [ -e \"$f\" ] || continue; \
    [ \"$(cat \"$f\")\" = \"${f#out/}\" ] || exit 1; done; \
    for u in use/*; do [ -e \"$u\" ] || continue; [ -s \"lib/${u#use/}\" ] || exit 1; done";

pub(crate) struct Yard {
    pub(crate) root: PathBuf,
    pub(crate) place: Place,
    pub(crate) person: Client,
    program: PathBuf,
    pub(crate) base: String,
    /// What each task waits for.
    pub(crate) needs: BTreeMap<u32, Vec<u32>>,
}

impl Yard {
    pub(crate) fn fresh(program: &Path, seed: u64) -> Result<Yard, String> {
        let name = format!("shipmate-chaos-{}-{seed}", std::process::id());
        let root = std::env::temp_dir().join(name);
        let named = |e: std::io::Error| format!("{}: {e}", root.display());
        for folder in ["repo/.shipmate", "home"] {
            fs::create_dir_all(root.join(folder)).map_err(named)?;
        }
        let root = root.canonicalize().map_err(named)?;
        fs::write(root.join("agent.sh"), AGENT).map_err(named)?;
        fs::write(root.join("open"), "").map_err(named)?;
        let place = Place { workspace: root.join("repo") };
        let config = "idle-exit-seconds = 0\ndurability = \"process\"\n";
        fs::write(place.config(), config).map_err(named)?;
        fs::write(place.workspace.join("README"), "begin\n").map_err(named)?;
        let program = program.canonicalize().map_err(named)?;
        let person = client(&program, &root, &place);
        let needs = BTreeMap::new();
        let mut yard = Yard { root, place, person, program, base: String::new(), needs };
        yard.git(&["init", "--quiet", "--initial-branch=main"])?;
        for pair in 0..PAIRS {
            for folder in ["lib", "use"] {
                let path = yard.place.workspace.join(folder);
                fs::create_dir_all(&path).map_err(|e| e.to_string())?;
                fs::write(path.join(pair.to_string()), "used\n").map_err(|e| e.to_string())?;
            }
        }
        yard.git(&["add", "README", "lib", "use"])?;
        yard.git(&["-c", "user.name=P", "-c", "user.email=p@x", "commit", "-qm", "base"])?;
        yard.base = yard.git(&["rev-parse", "HEAD"])?.trim().to_owned();
        Ok(yard)
    }

    pub(crate) fn client(&self) -> Client {
        client(&self.program, &self.root, &self.place)
    }

    pub(crate) fn ask(&mut self, ask: Ask) -> Result<Answer, String> {
        self.person.ask(ask).map_err(|e| e.to_string())
    }

    pub(crate) fn git(&self, args: &[&str]) -> Result<String, String> {
        git(&self.root, &self.place.workspace, args)
    }

    /// The team, its tasks in layers, and who does them.
    pub(crate) fn begin(&mut self, tasks: usize, random: &mut Random) -> Result<(), String> {
        let setup = Setup {
            trees: Some("own".to_owned()),
            gate: vec![GATE.to_owned()],
            ..Setup::default()
        };
        let name = TEAM.to_owned();
        let create = TeamCreate { name, gate: true, setup: Some(setup), ..TeamCreate::default() };
        let killer = self.kill_at_creation(random);
        let created = self.ask(Ask::TeamCreate(create));
        killer.join().map_err(|_| "the killer panicked".to_owned())?;
        created?;
        let plan = self.plan(tasks, random);
        self.ask(Ask::TaskCreate(verbs::TaskCreate { tasks: plan }))?;
        for n in 1..=TEAMMATES {
            let add = TeammateAdd {
                name: format!("dev-{n}"),
                command: format!("sh {}", self.root.join("agent.sh").display()),
                when_needed: true,
                ..TeammateAdd::default()
            };
            self.ask(Ask::TeammateAdd(add))?;
        }
        Ok(())
    }

    /// Kills the coordinator once it is there, at some moment of the creation of the team.
    fn kill_at_creation(&self, random: &mut Random) -> std::thread::JoinHandle<()> {
        let (place, mut client) = (self.place.clone(), self.client());
        let reads = random.below(40);
        std::thread::spawn(move || {
            // Whoever is welcomed knows that it runs; looking at it again and again takes a while.
            drop(client.welcome());
            for _ in 0..reads {
                drop(marked(&place.digest()));
            }
            if let Some(pid) = processes::coordinator(&place) {
                kill(pid);
            }
        })
    }

    /// Each layer is about as wide as the team; a task waits for some of the layer before it.
    fn plan(&mut self, tasks: usize, random: &mut Random) -> Vec<TaskNew> {
        let width = TEAMMATES as u64 + 4;
        let mut plan = Vec::new();
        for id in 1..=tasks as u64 {
            let layer = (id - 1) / width;
            let mut needs = Vec::new();
            if layer > 0 {
                let first = (layer - 1) * width + 1;
                for _ in 0..random.between(1, NEEDS_MAX) {
                    needs.push(first + random.below(width));
                }
                needs.sort_unstable();
                needs.dedup();
            }
            // Of each pair, whatever empties a file is red for as long as it is used.
            let (pair, is_second) = ((id as usize - 1) / 2, id % 2 == 0);
            let extra = match pair < PAIRS {
                true if is_second => format!(" drop {pair}"),
                true => format!(" empty {pair}"),
                false => String::new(),
            };
            plan.push(TaskNew {
                subject: format!("0.{:03}{extra}", random.between(10, 250)),
                alias: Some(format!("t{id}")),
                blocked_by: needs.iter().map(|need| format!("t{need}")).collect(),
                retries_max: Some(RETRIES_MAX),
                ..TaskNew::default()
            });
            self.needs.insert(id as u32, needs.into_iter().map(|need| need as u32).collect());
        }
        plan
    }

    /// Everybody who carries this workspace's marker.
    pub(crate) fn processes(&self) -> Vec<Marked> {
        marked(&self.place.digest())
    }

    pub(crate) fn coordinator(&self) -> Option<u32> {
        processes::coordinator(&self.place)
    }

    /// From here on nobody starts a coordinator by way of these clients.
    pub(crate) fn close(&self) {
        // Twice is as good as once.
        drop(fs::remove_file(self.root.join("open")));
    }

    /// After a failure: nothing of this run goes on.
    pub(crate) fn stop_everything(&self) {
        self.close();
        for _ in 0..3 {
            if let Some(pid) = self.coordinator() {
                kill(pid);
            }
            self.processes().into_iter().for_each(|one| kill(one.pid));
        }
    }

    pub(crate) fn remove(self) -> Result<(), String> {
        fs::remove_dir_all(&self.root).map_err(|e| format!("{}: {e}", self.root.display()))
    }
}

pub(crate) fn git(root: &Path, at: &Path, args: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .envs(environment(root))
        .current_dir(at)
        .args(args)
        .output()
        .map_err(|e| format!("git: {e}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr))),
    }
}

fn environment(root: &Path) -> Vec<(&'static str, OsString)> {
    vec![
        ("HOME", root.join("home").into()),
        ("XDG_CONFIG_HOME", root.join("home").into()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
        ("GIT_CONFIG_SYSTEM", "/dev/null".into()),
    ]
}

/// Through a shell that sets what everybody sees, and starts nothing once the yard is closed.
fn client(program: &Path, root: &Path, place: &Place) -> Client {
    let line = "[ ! -e \"$0/open\" ] || exec env \"$@\"";
    let mut args: Vec<OsString> = vec!["-c".into(), line.into(), root.into()];
    for (name, value) in environment(root) {
        let mut word = OsString::from(format!("{name}="));
        word.push(value);
        args.push(word);
    }
    args.extend([program.into(), "--workspace".into(), place.workspace.clone().into()]);
    args.extend(["coordinator".into(), "run".into()]);
    let launch = Launch::Program { program: "sh".into(), args };
    let mut client = Client::new(place.clone(), launch, TokenSource::Person);
    client.team = Some(TEAM.to_owned());
    client
}
