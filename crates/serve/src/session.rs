//! One client's conversation: a line in, at most a line out. Nothing here reads or writes anything.

use super::{
    Fault, Limits, Token,
    protocol::{
        Answered, Greeting, Kind, Noted, Ready, Refused, Request, SERVE_PROTOCOL, begins_object, cut, id_of, write,
    },
    reason::{LevelScores, Scorers, Teller},
    shadow::{Episode, ShadowLog},
};
use sched_distill_core::{
    policy::Policy,
    scenario::{Said, Scenario, State},
    text::{with_short_numbers, without_mark},
};
use sched_distill_trace::{Source, recorder::speak_of};
use serde::de::IgnoredAny;
use std::{error::Error, sync::Arc};

/// Decisions of a round × the extent of its state: what one line may ask for.
const MOST_WORK: usize = 1 << 25;
/// Candidates that one answer lists, over all decisions and levels.
const MOST_LISTED: usize = 1 << 16;
/// Lines that are no JSON objects after which a conversation ends.
const MOST_NOISE: u32 = 8;

/// What all clients are answered by.
pub struct Service<S: Scenario> {
    /// The policy, with the hashes of its files.
    pub source: Source,
    /// It. Every client has a copy of its own.
    pub policy: Box<dyn Policy<S>>,
    /// The levels of a student, which can say why.
    pub scorers: Option<Arc<Scorers>>,
    /// Seed of the episodes of clients that name none.
    pub seed: u64,
    /// What lines may be.
    pub limits: Limits,
    /// Where a shadow notes what was done; `None` if the policy answers.
    pub shadow: Option<ShadowLog>,
}

/// A client's conversation.
pub struct Session<S: Scenario> {
    service: Arc<Service<S>>,
    /// What the first line has to have.
    token: Option<Arc<Token>>,
    policy: Box<dyn Policy<S>>,
    /// Seed of the running episode.
    seed: u64,
    /// The cluster as it was told last, with the answers carried out.
    state: Option<S::State>,
    probabilities: Said,
    teller: Teller<S>,
    episode: Option<Episode<S>>,
    /// Lines that have come, blank ones aside.
    lines: u64,
    /// Those that were no JSON objects.
    noise: u32,
    is_over: bool,
    /// Whether the policy or the log, and not the line, is at fault.
    is_own_fault: bool,
    decisions: Vec<S::Decision>,
    levels: Vec<Vec<LevelScores>>,
}

type Line<S> = Request<<S as Scenario>::State, <<S as Scenario>::State as State>::Change, <S as Scenario>::Decision>;
type Problem = Box<dyn Error + Send + Sync>;

impl<S: Scenario> Session<S> {
    /// The beginning of an episode.
    #[must_use]
    pub fn new(service: &Arc<Service<S>>) -> Self {
        let mut policy = service.policy.fresh();
        policy.reset(service.seed);
        Self {
            policy,
            seed: service.seed,
            state: None,
            probabilities: Said::default(),
            teller: Teller::new(service.scorers.clone(), service.policy.abstains()),
            episode: service.shadow.as_ref().map(|_| Episode::new()),
            token: None,
            lines: 0,
            noise: 0,
            is_over: false,
            is_own_fault: false,
            decisions: Vec::new(),
            levels: Vec::new(),
            service: Arc::clone(service),
        }
    }

    /// The same of a client that has to greet with the token.
    #[must_use]
    pub fn asking_for(mut self, token: Arc<Token>) -> Self {
        self.token = Some(token);
        self
    }

    /// Whether the conversation is over: nothing more is taken in.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes in a line and appends the answer to it, if it has one. Tells what was wrong, if anything.
    pub fn line(&mut self, line: &[u8], out: &mut Vec<u8>) -> Option<Fault> {
        let line = if self.lines == 0 { without_mark(line) } else { line };
        // Who has to say a token first does not begin with nothing.
        let may_be_blank = self.lines > 0 || self.token.is_none();
        if self.is_over || (may_be_blank && line.trim_ascii().is_empty()) {
            return None;
        }
        self.lines += 1;
        self.is_own_fault = false;
        let before = out.len();
        let (fault, id, problem) = match self.read(line) {
            Ok(request) => {
                let (kind, id) = (request.kind, request.id);
                let problem = causes(&*self.request(request, out).err()?);
                let fault = match kind {
                    _ if self.is_own_fault => Fault::Server,
                    Kind::Hello => Fault::Hello,
                    _ => Fault::Line,
                };
                (fault, id, problem)
            }
            Err((fault, problem)) => (fault, id_of(line), problem),
        };
        out.truncate(before);
        self.noise += u32::from(fault == Fault::NoObject);
        self.is_over = match fault {
            Fault::Hello | Fault::Token => true,
            // A browser that was sent here begins with a line of HTTP, and what a stranger wants said comes later.
            Fault::NoObject => self.lines == 1 || self.noise == MOST_NOISE,
            _ => false,
        };
        self.refuse(id, problem, out);
        Some(fault)
    }

    fn read(&self, line: &[u8]) -> Result<Line<S>, (Fault, String)> {
        if let (1, Some(token)) = (self.lines, &self.token)
            && !Greeting::read(line).is_some_and(|greeting| greeting.token().is_some_and(|said| token.is(said)))
        {
            let problem = "clients have to know the token of this server and say it first: \
                           {\"type\":\"hello\",\"protocol\":1,\"token\":\"...\"} (--token-file)";
            return Err((Fault::Token, problem.to_owned()));
        }
        if !begins_object(line) {
            // A list would do as well for whoever reads the fields in order.
            return Err((Fault::NoObject, "a line is a JSON object, and begins with `{`".to_owned()));
        }
        serde_json::from_slice(line).map_err(|e| {
            let fault = match serde_json::from_slice::<IgnoredAny>(line) {
                Err(_) => Fault::NoObject,
                Ok(_) if Greeting::read(line).is_some() => Fault::Hello,
                Ok(_) => Fault::Line,
            };
            (fault, e.to_string())
        })
    }

    /// Takes in a line that was too long to be kept.
    pub(super) fn too_long(&mut self, bytes: u64, out: &mut Vec<u8>) -> Fault {
        self.lines += 1;
        // Whether a first one is an object nobody knows.
        self.is_over |= self.lines == 1;
        let most = self.service.limits.line;
        self.refuse(None, format!("the line has {bytes} bytes, at most {most} are allowed (--max-line)"), out);
        Fault::TooLong
    }

    /// The rest of a line did not come in time.
    pub(super) fn stalled(&mut self, out: &mut Vec<u8>) -> Fault {
        self.is_over = true;
        let patience = self.service.limits.patience.as_secs_f64();
        self.refuse(None, format!("the rest of the line did not come within {patience} s"), out);
        Fault::Unfinished
    }

    /// Appends what is wrong.
    fn refuse(&self, id: Option<u64>, mut problem: String, out: &mut Vec<u8>) {
        problem = cut(&problem);
        if self.is_over {
            problem.push_str("; the conversation ends");
        }
        write(&Refused { id, error: &problem }, out);
    }

    /// The client is gone.
    ///
    /// # Errors
    ///
    /// If what a shadow has noted cannot be written.
    pub fn end(&mut self) -> Result<(), Problem> {
        self.end_episode()
    }

    fn end_episode(&mut self) -> Result<(), Problem> {
        if let (Some(log), Some(episode)) = (&self.service.shadow, &mut self.episode) {
            self.is_own_fault = true;
            log.add(episode.take(self.seed))?;
            self.is_own_fault = false;
        }
        Ok(())
    }

    fn request(&mut self, request: Line<S>, out: &mut Vec<u8>) -> Result<(), Problem> {
        match request.kind {
            Kind::Hello => self.hello(&request, out),
            Kind::Reset => {
                only(&request, &["seed"])?;
                self.begin(request.seed.ok_or("`reset` has no `seed`")?)
            }
            Kind::Question => self.question(request, out),
        }
    }

    fn hello(&mut self, request: &Line<S>, out: &mut Vec<u8>) -> Result<(), Problem> {
        only(request, &["protocol", "seed", "token"])?;
        if self.lines > 1 {
            return Err("`hello` is the first line or none; `reset` begins the next episode".into());
        }
        match request.protocol {
            Some(SERVE_PROTOCOL) => {}
            Some(other) => {
                return Err(format!("the client speaks protocol {other}, this server {SERVE_PROTOCOL}").into());
            }
            None => return Err(format!("`hello` has no `protocol`; this server speaks {SERVE_PROTOCOL}").into()),
        }
        self.begin(request.seed.unwrap_or(self.service.seed))?;
        let Service { source, shadow, .. } = &*self.service;
        let features = (S::INFO.feature_set)().hash();
        write(
            &Ready {
                protocol: SERVE_PROTOCOL,
                version: env!("CARGO_PKG_VERSION"),
                scenario: S::INFO.name,
                policy: &source.id,
                files: &source.files,
                features: &features,
                shadow: shadow.is_some(),
            },
            out,
        );
        Ok(())
    }

    fn begin(&mut self, seed: u64) -> Result<(), Problem> {
        self.end_episode()?;
        self.policy.reset(seed);
        self.seed = seed;
        self.state = None;
        Ok(())
    }

    fn question(&mut self, request: Line<S>, out: &mut Vec<u8>) -> Result<(), Problem> {
        if request.protocol.is_some() || request.seed.is_some() || request.token.is_some() {
            return Err("`protocol`, `token` and `seed` belong to `hello`, and `seed` to `reset`".into());
        }
        // Whatever goes wrong from here on, what was told before is not known any more.
        let mut state = match (request.state, request.change, self.state.take()) {
            (Some(state), None, _) => state,
            (None, Some(change), Some(mut state)) => {
                state.change(change)?;
                state
            }
            (None, Some(_), None) => {
                return Err(
                    "`change` without a state to change: tell the whole `state` first, and after an error again".into(),
                );
            }
            (Some(_), Some(_), _) => return Err("either `state` or `change`, not both".into()),
            (None, None, _) => return Err("there is no `state` and no `change`".into()),
        };
        let extent = state.extent();
        if extent > self.service.limits.extent {
            let problem = format!(
                "`state` is too large: an extent of {extent}, at most {} is allowed (--max-extent)",
                self.service.limits.extent
            );
            return Err(problem.into());
        }
        let allowed = MOST_WORK / extent.max(1);
        match (&self.service.shadow, request.did) {
            (None, Some(_)) => return Err("`did` is for a shadow (`serve --shadow`); this server answers".into()),
            (None, None) => {
                let most = request.most.map_or(usize::MAX, |most| most as usize);
                self.decide(&mut state, (most, allowed), request.scores.unwrap_or(true), request.why.unwrap_or(false))?;
                let levels = (!self.levels.is_empty()).then_some(&*self.levels);
                write(&Answered { id: request.id, decisions: &self.decisions, levels }, out);
                self.levels = Vec::new();
            }
            (Some(_), None) => {
                return Err("a shadow is told what was done: `did` has the decisions of this round, in order".into());
            }
            (Some(_), Some(did)) => {
                if request.most.is_some() || request.scores.is_some() || request.why.is_some() {
                    return Err("`most`, `scores` and `why` are for a server that answers; this one is a shadow".into());
                }
                self.note(&mut state, &did, allowed)?;
                write(&Noted { id: request.id }, out);
            }
        }
        self.state = Some(state);
        Ok(())
    }

    /// Answers the question and those that follow in its round.
    fn decide(
        &mut self,
        state: &mut S::State,
        (most, allowed): (usize, usize),
        scores: bool,
        why: bool,
    ) -> Result<(), Problem> {
        if why && self.service.scorers.is_none() {
            return Err(format!("`why`: only a student can say; this is {}", self.service.source.id).into());
        }
        self.decisions.clear();
        self.levels.clear();
        let mut listed = 0;
        while self.decisions.len() < most {
            let Some(seen) = state.view() else { break };
            if self.decisions.len() == allowed {
                let problem = format!("the round has more than {allowed} decisions; ask for fewer at a time (`most`)");
                return Err(problem.into());
            }
            self.probabilities.clear();
            let decided = self.policy.decide(&seen, &mut self.probabilities);
            let decision = decided.map_err(|e| self.replace(e.into()))?;
            if scores || why {
                let levels = self.teller.levels(&seen, decision, &self.probabilities, why);
                listed += levels.iter().map(|level| level.candidates.len()).sum::<usize>();
                if listed > MOST_LISTED {
                    self.levels = Vec::new();
                    let problem = format!(
                        "the answer would list more than {MOST_LISTED} candidates; ask for fewer decisions at a time (`most`), \
                         or leave them out (`\"scores\": false`)"
                    );
                    return Err(problem.into());
                }
                self.levels.push(levels);
            }
            let carried_out = state.answer(decision).map_err(|e| {
                self.is_own_fault = true;
                format!("the policy's decision is illegal: {e}")
            })?;
            self.decisions.push(carried_out);
        }
        Ok(())
    }

    /// Notes what was done in a round, beside what the policy would have done at each question of it.
    fn note(&mut self, state: &mut S::State, did: &[S::Decision], allowed: usize) -> Result<(), Problem> {
        let Some(episode) = &mut self.episode else { return Ok(()) };
        if did.len() > allowed {
            return Err(format!("`did` has {} decisions, at most {allowed} are allowed at this size", did.len()).into());
        }
        // A line with a decision that cannot be leaves nothing behind.
        let mut whole = state.clone();
        for (place, &decision) in did.iter().enumerate() {
            whole.answer(decision).map_err(|e| format!("did[{place}]: {e}"))?;
        }
        for &decision in did {
            let Some(seen) = state.view() else { break };
            let p = &mut self.probabilities;
            p.clear();
            let label = self.policy.decide(&seen, p);
            if let Err(error) = label.and_then(|label| speak_of(&mut *self.policy, &seen, (label, decision), p)) {
                return Err(self.replace(error.into()));
            }
            episode.push(&seen, decision, &self.probabilities);
            state.answer(decision)?;
        }
        match episode.is_long() {
            true => self.end_episode(),
            false => Ok(()),
        }
    }

    /// A copy instead of a policy that has failed; the episode goes on with what the new one knows.
    fn replace(&mut self, problem: Problem) -> Problem {
        self.is_own_fault = true;
        self.policy = self.service.policy.fresh();
        self.policy.reset(self.seed);
        problem
    }
}

impl<S: Scenario> Drop for Session<S> {
    /// Also where something went wrong, what was noted is kept.
    fn drop(&mut self) {
        // Nobody is there to be told; the log keeps what it could not write for the next time.
        let _ = self.end_episode();
    }
}

/// Whether a line has these fields at most, besides its type.
fn only<St, C, D>(request: &Request<St, C, D>, allowed: &[&str]) -> Result<(), Problem> {
    let found = [
        ("protocol", request.protocol.is_some()),
        ("token", request.token.is_some()),
        ("seed", request.seed.is_some()),
        ("id", request.id.is_some()),
        ("state", request.state.is_some()),
        ("change", request.change.is_some()),
        ("most", request.most.is_some()),
        ("scores", request.scores.is_some()),
        ("why", request.why.is_some()),
        ("did", request.did.is_some()),
    ];
    match found.iter().find(|(name, there)| *there && !allowed.contains(name)) {
        Some((name, _)) => Err(format!("`{name}` does not belong here; allowed are {}", allowed.join(", ")).into()),
        None => Ok(()),
    }
}

/// A problem with its causes, without repeating what a cause already says.
fn causes(problem: &(dyn Error + 'static)) -> String {
    let mut words = problem.to_string();
    let mut next = problem.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        next = cause.source();
    }
    with_short_numbers(&words).into_owned()
}
