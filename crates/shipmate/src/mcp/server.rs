//! The protocol's side of a session: what each MCP request means.
//!
//! With agent teams switched off nothing is registered: no tools, resources or prompts.

#![expect(deprecated, reason = "clients of older protocols set a log level and subscribe")]

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    ContentBlock, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, Implementation, InitializeRequestParams, InitializeResult, JsonObject,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    MetaObject, PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams,
    SubscribeRequestParams, SubscriptionFilter, ToolAnnotations, UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use shipmate_protocol::tools::{self, Reader, SeatKind};
use shipmate_protocol::verbs;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::mcp::call;
use crate::mcp::feed::{self, Subscribed};
use crate::mcp::hub::Hub;
use crate::mcp::session::Session;
use crate::mcp::session_board::CALL_MAX;
use crate::mcp::{prompts, resources};

/// How often a call that takes long says so.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// How long an answer waits for its client to ask for the tools that it has brought.
const RELIST_MAX: Duration = Duration::from_millis(500);

/// Finds the session that a request belongs to.
pub(crate) trait Sessions: Send + Sync + 'static {
    fn of(&self, context: &RequestContext<RoleServer>) -> Result<Arc<Session>, ErrorData>;

    /// A client of the newest protocol listens, which says that it is there: for as long as what
    /// is given back.
    fn heard(&self, _: &RequestContext<RoleServer>) -> Option<Box<dyn Send>> {
        None
    }
}

pub(crate) struct Server<S> {
    hub: Arc<Hub>,
    sessions: S,
    /// What a client of an older protocol has subscribed to.
    subscribed: Arc<Subscribed>,
    pushing: OnceLock<AbortHandle>,
}

impl<S: Sessions> Server<S> {
    pub(crate) fn new(hub: Arc<Hub>, sessions: S) -> Server<S> {
        Server { hub, sessions, subscribed: Arc::default(), pushing: OnceLock::new() }
    }

    fn is_on(&self) -> bool {
        self.hub.config.team_tools(|name| std::env::var(name).ok())
    }

    fn off(&self, method: &'static str) -> ErrorData {
        let text = format!("{method}: {}", self.hub.why_off());
        ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
    }

    fn until() -> Instant {
        Instant::now() + CALL_MAX
    }

    /// Pushes what has changed to a client of an older protocol, from its first subscription or
    /// call on.
    fn push(&self, session: &Arc<Session>, peer: &Peer<RoleServer>) {
        self.pushing.get_or_init(|| {
            let pushing =
                feed::push(Arc::clone(session), peer.clone(), Arc::clone(&self.subscribed));
            tokio::spawn(pushing).abort_handle()
        });
    }
}

impl<S> Drop for Server<S> {
    fn drop(&mut self) {
        if let Some(pushing) = self.pushing.get() {
            pushing.abort();
        }
    }
}

impl<S: Sessions> ServerHandler for Server<S> {
    fn get_info(&self) -> ServerConfig {
        let me = Implementation::new("shipmate", env!("CARGO_PKG_VERSION"))
            .with_title("shipmate: a team of agents");
        if !self.is_on() {
            let nothing = ServerConfig::new(ServerCapabilities::default());
            return nothing.with_server_info(me).with_instructions(self.hub.why_off());
        }
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        let config = ServerConfig::new(capabilities).with_server_info(me);
        config.with_instructions(prompts::INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        // From here on it counts as a session, and is its caller's.
        self.sessions.of(&context)?;
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if !self.is_on() {
            return Err(self.off("tools/list"));
        }
        let session = self.sessions.of(&context)?;
        self.push(&session, &context.peer);
        let habits = Habits::of(&context);
        let program = context.client_info().map(|client| client.name).unwrap_or_default();
        let seat = session.prospect(&program, Self::until()).await;
        let mut seat =
            seat.map_err(|refused| ErrorData::internal_error(refused.to_string(), None))?;
        if seat.kind == SeatKind::Visitor && habits.lists_once {
            // What it will have as the lead; until then a call is refused by name.
            seat.kind = SeatKind::Lead;
        }
        session.listed();
        let shown = tools::shown(tools::list(&seat), &seat, Reader::Session).into_iter();
        let offered = shown.map(|tool| offer(tool, habits)).collect();
        Ok(ListToolsResult::with_all_items(offered))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.is_on() {
            return Err(self.off("tools/call"));
        }
        let session = self.sessions.of(&context)?;
        self.push(&session, &context.peer);
        let program = context.client_info().map(|client| client.name).unwrap_or_default();
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let habits = Habits::of(&context);
        let (signs, mut listings) = (session.signs(), session.listings());
        let before = signs.borrow().tools;
        let calling = call::call(&session, &program, &request.name, arguments, Self::until());
        let called = with_progress(&context, calling).await;
        let tools = signs.borrow().tools;
        if tools != before && !habits.lists_once {
            // A model that reads the answer before its client has asked for the new tools would
            // not find them. Where the client does not ask, nothing is lost but this moment.
            drop(tokio::time::timeout(RELIST_MAX, listings.changed()).await);
        }
        let mut structured = called.outcome.structured;
        if let (false, Some(fields)) = (called.mail.is_empty(), structured.as_object_mut()) {
            // A client that shows its model the data instead of the text shows this too.
            fields.insert("mail".to_owned(), called.mail.clone().into());
        }
        let mut content = vec![ContentBlock::text(called.outcome.text)];
        content.extend(called.mail.into_iter().map(ContentBlock::text));
        if called.outcome.is_error {
            return Ok(CallToolResult::error(content).into());
        }
        let mut result = CallToolResult::success(content);
        result.structured_content = Some(structured).filter(|_| !habits.prefers_data);
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        if !self.is_on() {
            return Err(self.off("resources/list"));
        }
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        if !self.is_on() {
            return Err(self.off("resources/templates/list"));
        }
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if !self.is_on() {
            return Err(self.off("resources/read"));
        }
        let session = self.sessions.of(&context)?;
        let program = context.client_info().map(|client| client.name).unwrap_or_default();
        Ok(resources::read(&session, &program, &request.uri, Self::until()).await?.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.is_on() {
            return Err(self.off("resources/subscribe"));
        }
        if !resources::is_known(&request.uri) {
            let text = format!("{}: there is no such resource", request.uri);
            return Err(ErrorData::resource_not_found(text, None));
        }
        let session = self.sessions.of(&context)?;
        self.subscribed.add(request.uri);
        self.push(&session, &context.peer);
        session.look_out();
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        wanted: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.is_on().then(|| {
            let mut accepted = wanted.clone();
            if let Some(uris) = &mut accepted.resource_subscriptions {
                uris.retain(|uri| resources::is_known(uri));
            }
            accepted
        })
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let session = self.sessions.of(context.request_context())?;
        let _there = self.sessions.heard(context.request_context());
        feed::listen(&session, &context).await;
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        if !self.is_on() {
            return Err(self.off("prompts/list"));
        }
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if !self.is_on() {
            return Err(self.off("prompts/get"));
        }
        let session = self.sessions.of(&context)?;
        // A brief is as good without the seat as the seat is without a coordinator.
        let seat = match session.taken().await {
            Some(_) => session.stand("", Self::until()).await.ok().and_then(|there| there.view),
            None => None,
        };
        let team = session.reader(Self::until()).await.ok().flatten().map(|(_, team)| team);
        let arguments = request.arguments.unwrap_or_default();
        let brief = prompts::get(&request.name, &arguments, team.as_deref(), seat.as_deref())?;
        Ok(brief.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if !self.is_on() {
            return Err(self.off("completion/complete"));
        }
        let session = self.sessions.of(&context)?;
        let reader = session.reader(Self::until()).await.ok().flatten();
        let teammates = match reader {
            Some((link, _)) => link.ask(verbs::Teammates, Self::until()).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let argument = request.argument;
        let values = prompts::complete(&argument.name, &argument.value, &teammates);
        Ok(CompleteResult::new(values))
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // This server logs nothing to its client; every level is as good.
        Ok(())
    }

    /// What the protocol does not know, or knows with other parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let known = [
            "tools/call",
            "resources/read",
            "resources/subscribe",
            "resources/unsubscribe",
            "prompts/get",
            "completion/complete",
            "logging/setLevel",
        ];
        if known.contains(&request.method.as_str()) {
            let text =
                format!("the parameters of {} are missing or of a wrong type", request.method);
            return Err(ErrorData::invalid_params(text, None));
        }
        let text = format!("there is no method {}", request.method);
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None))
    }
}

/// What is known of a client that the protocol does not say.
#[derive(Debug, Clone, Copy)]
struct Habits {
    /// Shows its model the data of a result and drops the text, which says more and brings mail.
    prefers_data: bool,
    /// Asks for the tools once and never again, whatever it is told (Codex 0.166).
    lists_once: bool,
}

impl Habits {
    fn of(context: &RequestContext<RoleServer>) -> Habits {
        let program = context.client_info().map(|client| client.name).unwrap_or_default();
        let codex = program.starts_with("codex");
        Habits { prefers_data: codex || program.starts_with("claude"), lists_once: codex }
    }
}

fn offer(tool: tools::Tool, habits: Habits) -> rmcp::model::Tool {
    let object = |schema: Value| match schema {
        Value::Object(object) => Arc::new(object),
        other => panic!("the schema of {} is no object: {other}", tool.name),
    };
    let annotations = ToolAnnotations::from_raw(
        Some(tool.title.to_owned()),
        Some(tool.read_only),
        Some(tool.destructive),
        Some(tool.idempotent),
        Some(false),
    );
    // Clients that load tools on demand would not show these to a model otherwise.
    let mut meta = JsonObject::new();
    meta.insert("anthropic/alwaysLoad".to_owned(), Value::Bool(true));
    let mut offered =
        rmcp::model::Tool::new(tool.name, tool.description, object(tool.input_schema.clone()))
            .with_title(tool.title)
            .with_annotations(annotations)
            .with_meta(MetaObject(meta));
    let data = tool.output_schema.clone().filter(|_| !habits.prefers_data);
    offered.output_schema = data.map(object);
    offered
}

/// Says every few seconds that a call is still under way, to whoever asked to be told.
async fn with_progress<T>(
    context: &RequestContext<RoleServer>,
    calling: impl Future<Output = T>,
) -> T {
    let Some(token) = context.meta.get_progress_token() else { return calling.await };
    let begun = Instant::now();
    let mut every = tokio::time::interval_at(begun + PROGRESS_EVERY, PROGRESS_EVERY);
    let mut calling = std::pin::pin!(calling);
    loop {
        tokio::select! {
            done = &mut calling => return done,
            now = every.tick() => {
                let passed = (now - begun).as_secs_f64();
                let progress = ProgressNotificationParam::new(token.clone(), passed)
                    .with_total(CALL_MAX.as_secs_f64())
                    .with_message("waiting for the team");
                drop(context.peer.notify_progress(progress).await);
            }
        }
    }
}
