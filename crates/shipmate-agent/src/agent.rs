//! The agent's process: the turn machine with a model, tools and a supervisor around it.
//!
//! One thread. What the supervisor says is heard at any time; what the machine wants done runs
//! beside it, one step at a time. The process ends with its input, and everything it started
//! with it.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use shipmate_process::hidden;
use shipmate_protocol::native::{Begin, Ended, FromAgent, ToAgent};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::asking::Asking;
use crate::context::Context;
use crate::conversation::Conversation;
use crate::model::{Failure, Model};
use crate::seat::Seat;
use crate::supervisor::Supervisor;
use crate::tools::{Place, Toolbox};
use crate::turn::{Event, Machine, Step};
use crate::using::Using;

/// Variables that are nobody's business but this process's.
const SECRETS: [&str; 2] = ["SHIPMATE_TOKEN", "SHIPMATE_LAUNCH_FENCE"];

/// Progress is told at most this often.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Runs the agent on standard input and output until its input ends.
pub fn run() -> Result<(), String> {
    // What a command leaves behind, whatever it did to its environment, comes to this process.
    shipmate_process::become_subreaper().map_err(|e| e.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| e.to_string())?;
    let ended = tokio::task::LocalSet::new().block_on(&runtime, live());
    // A file that is being read holds nobody up.
    runtime.shutdown_background();
    ended
}

type Doing = Pin<Box<dyn Future<Output = Event>>>;

async fn live() -> Result<(), String> {
    let (tell, said) = mpsc::unbounded_channel();
    let no_pipe = |e: io::Error| format!("it is to be started by its supervisor, with pipes: {e}");
    let stdout = io::stdout().as_fd().try_clone_to_owned().and_then(pipe::Sender::from_owned_fd);
    tokio::task::spawn_local(write(stdout.map_err(no_pipe)?, said));
    let supervisor = Supervisor::new(tell);
    let mut told = hear(supervisor.clone()).map_err(no_pipe)?;
    let Some(ToAgent::Begin(begin)) = told.recv().await else {
        return Err("nobody said what to begin with".to_owned());
    };
    let mut agent = Agent::begin(*begin, supervisor)?;
    agent.live(&mut told).await;
    agent.toolbox.stop().await;
    Ok(())
}

/// Everything one agent has.
struct Agent {
    machine: Machine,
    conversation: Conversation,
    supervisor: Supervisor,
    toolbox: Rc<Toolbox>,
    /// A model that cannot be had is told when there is work for it.
    model: Result<Rc<Model>, Failure>,
    seat: Rc<RefCell<Seat>>,
    thinking_tokens: u64,
    /// Messages that were put into the present turn.
    heard: usize,
    /// It was told in this turn that something still runs.
    is_warned: bool,
}

impl Agent {
    fn begin(begin: Begin, supervisor: Supervisor) -> Result<Agent, String> {
        hidden::hide(begin.hidden);
        let order = begin.model.clone();
        let model = Model::new(order.clone(), &begin.pools).map(Rc::new);
        let secrets = SECRETS.iter().map(|name| (*name).to_owned());
        let place = Place {
            tree: begin.tree,
            scratch: begin.scratch,
            fence: begin.fence,
            program: begin.program,
            marker: begin.marker,
            limits: begin.limits,
            secrets: secrets.chain(begin.secrets).collect(),
        };
        let toolbox = Rc::new(Toolbox::new(place));
        tell_printed(&toolbox, supervisor.clone());
        let own = toolbox.offered(&begin.own_tools);
        let seat = Seat { standing: begin.standing, team: begin.tools, own };
        let mut context =
            Context::new(begin.identity, order.context_tokens, order.output_tokens_max);
        context.set_head(seat.bytes());
        let path = &begin.conversation;
        let (conversation, resumed) = Conversation::open(path, &mut context)
            .map_err(|e| format!("the conversation {}: {e}", path.display()))?;
        supervisor.tell(FromAgent::Ready { resumed });
        Ok(Agent {
            machine: Machine::new(context, begin.limits.requests_max),
            conversation,
            supervisor,
            toolbox,
            model,
            seat: Rc::new(RefCell::new(seat)),
            thinking_tokens: order.thinking_tokens,
            heard: 0,
            is_warned: false,
        })
    }

    async fn live(&mut self, told: &mut mpsc::UnboundedReceiver<ToAgent>) {
        let mut doing: Option<Doing> = None;
        loop {
            let event = tokio::select! {
                biased;
                said = told.recv() => match said {
                    None => return,
                    Some(said) => self.heard(said).await,
                },
                event = async { doing.as_mut().expect("something is done").await },
                    if doing.is_some() =>
                {
                    doing = None;
                    Some(event)
                }
            };
            let Some(event) = event else { continue };
            if event == Event::Cancel {
                doing = None;
                self.toolbox.cancel().await;
            }
            // Ends of background runs go in where messages do.
            for notice in self.toolbox.take_notices() {
                self.machine.on(Event::Message(notice));
            }
            let step = match self.step(event) {
                Step::Ended(Ended::Done { text }) => self.or_warned(text).await,
                Step::Ended(how) => {
                    self.toolbox.stop().await;
                    Step::Ended(how)
                }
                step => step,
            };
            match step {
                Step::Nothing => {}
                step => doing = self.perform(step),
            }
        }
    }

    /// Work is handed in as it lies there: nothing may go on behind a turn that has ended. The
    /// model hears of it once, and is waited for.
    async fn or_warned(&mut self, text: String) -> Step {
        let going = self.toolbox.in_background();
        if going.is_empty() {
            return Step::Ended(Ended::Done { text });
        }
        if std::mem::replace(&mut self.is_warned, true) {
            self.toolbox.stop().await;
            return Step::Ended(Ended::Done { text });
        }
        self.supervisor.say(&text);
        let text = format!(
            "Still running in the background: {}. Wait with bash_output and wait_ms, or stop it: \
             what goes on when your turn ends is ended with it.",
            going.join(", ")
        );
        self.step(Event::Turn { text, whole: String::new() })
    }

    async fn heard(&mut self, said: ToAgent) -> Option<Event> {
        match said {
            ToAgent::Turn { text, whole } => {
                (self.heard, self.is_warned) = (0, false);
                let is_first = self.machine.context.messages().is_empty();
                let text = if is_first && !whole.is_empty() { whole.clone() } else { text };
                Some(Event::Turn { text, whole })
            }
            ToAgent::Message { text } if self.machine.is_active() => {
                self.heard += 1;
                Some(Event::Message(text))
            }
            // Too late for the turn: it was not counted, and comes again.
            ToAgent::Message { .. } => None,
            ToAgent::Cancel => Some(Event::Cancel),
            ToAgent::Seat { standing, identity, tools, own_tools } => {
                let own = self.toolbox.offered(&own_tools);
                let seat = Seat { standing, team: tools, own };
                self.machine.context.set_head(seat.bytes());
                self.machine.context.set_identity(identity);
                *self.seat.borrow_mut() = seat;
                None
            }
            ToAgent::Hide { hidden } => {
                hidden::hide(hidden);
                None
            }
            // Answers have gone to whoever asked; a second beginning is nobody's.
            ToAgent::Answer { .. } | ToAgent::Begin(_) => None,
        }
    }

    /// Lets the machine go on and writes down what came of it.
    fn step(&mut self, event: Event) -> Step {
        let step = self.machine.on(event);
        let kept = self.machine.take_kept();
        match self.conversation.keep(&kept) {
            Ok(()) => step,
            Err(e) => {
                self.machine.on(Event::Cancel);
                let reason = format!("its conversation cannot be written: {e}");
                Step::Ended(Ended::Unable { reason })
            }
        }
    }

    /// Starts what is to be done; an end is told at once.
    fn perform(&mut self, step: Step) -> Option<Doing> {
        match step {
            Step::Nothing => None,
            Step::Ended(ended) => {
                if let Ended::Done { text } = &ended {
                    self.supervisor.say(text);
                }
                self.supervisor.tell(FromAgent::Ended { how: ended, heard: self.heard });
                None
            }
            Step::Use(calls) => {
                let using = Using {
                    supervisor: self.supervisor.clone(),
                    toolbox: Rc::clone(&self.toolbox),
                    seat: Rc::clone(&self.seat),
                    model: self.model.clone().ok(),
                };
                Some(Box::pin(async move { Event::Results(using.all(calls).await) }))
            }
            Step::Ask | Step::Summarise => {
                let summary = step == Step::Summarise;
                let context = &self.machine.context;
                if summary {
                    self.supervisor.say("[the context is nearly full: summarising]");
                }
                let asking = Asking {
                    supervisor: self.supervisor.clone(),
                    seat: Rc::clone(&self.seat),
                    messages: match summary {
                        true => context.to_summarise(),
                        false => context.messages().to_vec(),
                    },
                    output_tokens_max: context.output_tokens(),
                    thinking_tokens: if summary { 0 } else { self.thinking_tokens },
                    context: Some(context.fill()),
                };
                let model = self.model.clone();
                Some(Box::pin(async move {
                    match model {
                        Ok(model) => asking.ask(&model).await,
                        Err(failure) => Event::Failed(failure),
                    }
                }))
            }
        }
    }
}

/// A command that prints is at work.
fn tell_printed(toolbox: &Toolbox, supervisor: Supervisor) {
    let mut printed = toolbox.printed();
    tokio::task::spawn_local(async move {
        let mut told = 0;
        while printed.changed().await.is_ok() {
            let now = *printed.borrow_and_update();
            supervisor.tell(FromAgent::Busy { bytes: now.saturating_sub(told) });
            told = now;
            tokio::time::sleep_until(Instant::now() + TELL_EVERY).await;
        }
    });
}

/// Hears the supervisor. Answers go to whoever asked, the rest in order.
fn hear(supervisor: Supervisor) -> io::Result<mpsc::UnboundedReceiver<ToAgent>> {
    let (tell, told) = mpsc::unbounded_channel();
    let stdin = pipe::Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    tokio::task::spawn_local(async move {
        let mut lines = BufReader::new(stdin).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            match serde_json::from_str(&line) {
                Ok(ToAgent::Answer { id, answer }) => supervisor.answered(id, answer),
                Ok(said) => drop(tell.send(said)),
                Err(e) => eprintln!("a line of the supervisor's is not understood: {e}"),
            }
        }
    });
    Ok(told)
}

async fn write(
    mut out: pipe::Sender,
    mut said: mpsc::UnboundedReceiver<FromAgent>,
) -> io::Result<()> {
    while let Some(said) = said.recv().await {
        let mut line = serde_json::to_vec(&said).expect("what is said is JSON");
        line.push(b'\n');
        out.write_all(&line).await?;
    }
    Ok(())
}
