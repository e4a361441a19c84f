//! Hearing the native agent: its requests are answered, its words kept, its turn's end told.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use shipmate_protocol::native::{Does, Ended, FromAgent, Said, ToAgent};
use shipmate_protocol::verbs::{Context, Usage};
use shipmate_protocol::{Code, answers, verbs};
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, watch};

use super::super::desk::{Desk, May};
use super::super::rpc::each_line;
use super::super::transcript::Transcript;
use super::mcp::Servers;
use crate::permission::{Kind, Request};

/// What a turn has cost so far, and how full the context is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    usage: Usage,
    context: Option<Context>,
}

impl Spent {
    fn add(&mut self, more: Usage, context: Option<Context>) {
        self.usage.tokens_in += more.tokens_in;
        self.usage.tokens_out += more.tokens_out;
        self.usage.tokens_cached += more.tokens_cached;
        self.usage.cost_micros += more.cost_micros;
        self.usage.tokens_estimated += more.tokens_estimated;
        self.context = context.or(self.context);
    }

    /// For whoever follows the teammate; nothing where nothing was asked.
    pub(super) fn words(&self) -> String {
        let Usage { tokens_in, tokens_out, tokens_cached, cost_micros, .. } = self.usage;
        if tokens_in + tokens_out == 0 {
            return String::new();
        }
        let cost = cost_micros as f64 / 1e6;
        let percent = self.context.and_then(|context| context.percent()).unwrap_or_default();
        format!(
            "({tokens_in} tokens in, of them {tokens_cached} cached, {tokens_out} out, ${cost:.4}, context \
             {percent} % full)"
        )
    }
}

/// What is known of a process by what it says.
#[derive(Debug)]
pub(super) struct Heard {
    ended: RefCell<watch::Sender<Option<Ended>>>,
    /// Its output has ended.
    over: Cell<bool>,
    /// How many messages it heard in the turn that has ended.
    messages: Cell<usize>,
    /// Set aside for requests whose cost was not told.
    reserved: RefCell<BTreeMap<u64, Usage>>,
    spent: RefCell<Spent>,
    /// The last step was refused for want of room in its account.
    parked: Cell<bool>,
}

impl Heard {
    pub(super) fn is_over(&self) -> bool {
        self.over.get()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.borrow().borrow().is_some()
    }

    /// What is set aside for requests that were broken off.
    pub(super) fn take_reserved(&self) -> BTreeMap<u64, Usage> {
        self.reserved.take()
    }

    pub(super) fn take_parked(&self) -> bool {
        self.parked.take()
    }

    pub(super) fn take_spent(&self) -> Spent {
        self.spent.take()
    }

    pub(super) fn messages(&self) -> usize {
        self.messages.get()
    }

    pub(super) fn begin_turn(&self) -> watch::Receiver<Option<Ended>> {
        self.messages.set(0);
        let (tell, told) = watch::channel(None);
        *self.ended.borrow_mut() = tell;
        told
    }
}

/// Hears the agent until its output ends.
pub(super) fn hear(
    stdout: impl AsyncRead + Unpin + 'static,
    desk: &Desk,
    transcript: &Transcript,
    say: mpsc::UnboundedSender<String>,
    servers: Rc<Servers>,
) -> Rc<Heard> {
    let (tell, _) = watch::channel(None);
    let heard = Rc::new(Heard {
        ended: RefCell::new(tell),
        over: Cell::new(false),
        messages: Cell::new(0),
        reserved: RefCell::default(),
        spent: RefCell::default(),
        parked: Cell::default(),
    });
    let (desk, transcript) = (desk.clone(), transcript.clone());
    let ear = Ear { desk, transcript, say: say.downgrade(), servers };
    let told = Rc::clone(&heard);
    tokio::task::spawn_local(async move {
        each_line(stdout, |line| ear.line(line, &told)).await;
        told.over.set(true);
        // Whoever waits for the turn's end hears that there is none.
        *told.ended.borrow_mut() = watch::channel(None).0;
    });
    heard
}

#[derive(Debug, Clone)]
struct Ear {
    desk: Desk,
    transcript: Transcript,
    /// Weak: the agent's input must end when its driver lets go of it.
    say: mpsc::WeakUnboundedSender<String>,
    servers: Rc<Servers>,
}

impl Ear {
    fn line(&self, line: &str, heard: &Rc<Heard>) {
        let said = serde_json::from_str(line);
        // Signs of life are many and say nothing to a reader.
        match said {
            Ok(FromAgent::Busy { bytes }) => return self.transcript.busy(bytes),
            _ => self.transcript.heard(line),
        }
        match said {
            Ok(FromAgent::Say { text }) => self.transcript.say(&text),
            Ok(FromAgent::Waits { text, ms }) => self.transcript.waits(&text, ms),
            Ok(FromAgent::Ended { how, heard: messages }) => {
                heard.messages.set(messages);
                heard.ended.borrow().send_replace(Some(how));
            }
            Ok(FromAgent::Ready { resumed }) => {
                if resumed {
                    self.transcript.say("(the conversation is taken up again)");
                }
            }
            Ok(FromAgent::Busy { .. }) => {}
            Ok(said) => {
                let (ear, heard) = (self.clone(), Rc::clone(heard));
                tokio::task::spawn_local(async move { ear.attend_to(said, &heard).await });
            }
            Err(_) => self.transcript.say(line),
        }
    }

    async fn attend_to(&self, said: FromAgent, heard: &Heard) {
        let (id, answer) = match said {
            FromAgent::Call { id, tool, arguments } if self.servers.has(&tool) => {
                (id, self.servers.call(&self.desk, &tool, arguments).await)
            }
            FromAgent::Call { id, tool, arguments } => {
                let outcome = self.desk.call(&tool, arguments).await;
                (id, Said::Outcome { text: outcome.text, is_error: outcome.is_error })
            }
            FromAgent::May { id, tool, kind, paths, detail } => {
                let may = self.desk.may(request(tool, kind, paths, detail)).await;
                (
                    id,
                    match may {
                        May::Yes => Said::Yes,
                        May::No(words) => Said::No(words),
                    },
                )
            }
            FromAgent::Reserve { id, usage } => (id, self.reserve(usage, heard).await),
            FromAgent::Used { usage, reservation, context, model } => {
                self.desk.asks(&model);
                if let Some(id) = reservation {
                    heard.reserved.borrow_mut().remove(&id);
                }
                heard.spent.borrow_mut().add(usage, context);
                self.transcript.fills(context);
                return self.desk.used_of(usage, reservation).await;
            }
            FromAgent::Windows { windows } => return self.desk.tells_windows(windows),
            _ => return,
        };
        let line = serde_json::to_string(&ToAgent::Answer { id, answer }).expect("it is JSON");
        self.transcript.told(&line);
        if let Some(say) = self.say.upgrade() {
            drop(say.send(line));
        }
    }

    async fn reserve(&self, usage: Usage, heard: &Heard) -> Said {
        match self.desk.carry(verbs::UsageReserve { usage }).await {
            Ok(Some(answers::Opened { id })) => {
                heard.reserved.borrow_mut().insert(id, usage);
                Said::Reserved(Some(id))
            }
            Ok(None) => Said::Reserved(None),
            Err(refused) => {
                heard.parked.set(refused.code == Code::AccountParked);
                let remedy = refused.remedy.map(|text| format!("; {text}")).unwrap_or_default();
                Said::No(format!("{}{remedy}", refused.message))
            }
        }
    }
}

fn request(tool: String, kind: Does, paths: Vec<PathBuf>, detail: String) -> Request {
    let kind = match kind {
        Does::Read => Kind::Read,
        Does::Search => Kind::Search,
        Does::Write => Kind::Write,
        Does::Run => Kind::Run,
        Does::Spawn => Kind::Spawn,
    };
    let title = format!("{tool} {}", detail.lines().next().unwrap_or_default());
    Request { tool, kind, paths, title, detail }
}
