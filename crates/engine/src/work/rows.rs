//! What is read of traces: a level's choices, part by part, or the same in bins.

use super::{
    batch_file::{self, Send},
    batches, coded,
};
use crate::opened::Opened;
use anyhow::{Context, Result, anyhow, bail};
use arrow::{datatypes::SchemaRef, ipc::CompressionType};
use sched_distill_core::level::{LevelSpec, sha256_hex};
use sched_distill_learn::{Coder, is_usable};
use sched_distill_trace::LevelTable;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};

/// Where a trace is, and which one it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Place {
    /// Its folder, or its address on a store.
    pub at: String,
    /// Its hash: of another trace in that place nothing is read.
    pub hash: String,
}

/// What is read of a level of some traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    /// The traces.
    pub traces: Vec<Place>,
    /// The level.
    pub level: LevelSpec,
    /// By part, the number of its trace and of its file among those of the level.
    pub parts: Vec<(u32, u32)>,
    /// The episodes: from the first number to before the second.
    pub episodes: [u32; 2],
    /// Whether those choices alone that a fit can learn from.
    pub usable: bool,
    /// Columns of features that must not count: 0 for everybody.
    pub hidden: Vec<usize>,
    /// How choices become rows in bins, where these are asked for.
    pub coder: Option<Coder>,
}

impl Rows {
    /// From bytes of [`Rows::to_bytes`].
    ///
    /// # Errors
    ///
    /// Bytes of something else.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes).context("what is to be read is not described as this version does")
    }

    /// What an engine carries around.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        // Plain data with names for keys.
        serde_json::to_vec(self).expect("plain data serialises")
    }

    /// The columns of [`Rows::read`].
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        match &self.coder {
            Some(coder) => coded::schema(coder.bins.len()),
            None => batches::schema(&self.level),
        }
    }

    /// Sends parts, one after the other, some whole choices at a time.
    ///
    /// # Errors
    ///
    /// A part that is not what it was when the trace was sealed, a full disk, and whatever keeps the batches from being taken.
    pub fn read(&self, parts: &[u32], send: Send<'_>) -> Result<()> {
        let choices = Self { coder: None, ..self.clone() };
        let choices = Choices { key: choices.key()?, rows: choices };
        let Some(coder) = &self.coder else { return parts.iter().try_for_each(|&part| choices.send(part, send)) };
        let key = self.key()?;
        parts.iter().try_for_each(|&part| coded::read(&choices, coder, (part, &self.name(part, &key)?), send))
    }

    /// Hands out the choices of a part's file, some whole episodes at a time.
    fn read_file(&self, part: u32, take: &mut dyn FnMut(LevelTable) -> Result<()>) -> Result<()> {
        let (opened, file) = self.file(part)?;
        let trace = opened.with_file(&self.level.name, file)?;
        let [from, to] = self.episodes;
        for piece in trace.pieces_of_file(&self.level.name, file)? {
            let mut piece = piece.map_err(|error| opened.told(error))?;
            let wanted = |usable: bool, episode: u32| (from..to).contains(&episode) && usable;
            let all = piece.iter().all(|c| wanted(!self.usable || is_usable(&c), c.header.episode));
            if !all {
                piece = piece.filter(|c| wanted(!self.usable || is_usable(c), c.header.episode));
            }
            if piece.choices.is_empty() {
                continue;
            }
            let width = piece.width();
            if !self.hidden.is_empty() {
                let hide = |row: &mut [f32]| self.hidden.iter().for_each(|&column| row[column] = 0.0);
                piece.x.chunks_exact_mut(width).for_each(hide);
            }
            take(piece)?;
        }
        Ok(())
    }

    /// The trace of a part, and the number of the part's file in it.
    fn file(&self, part: u32) -> Result<(Arc<Opened>, usize)> {
        let (trace, file) = *self.parts.get(part as usize).ok_or_else(|| anyhow!("there is no part {part}"))?;
        let place = self.traces.get(trace as usize).ok_or_else(|| anyhow!("there is no trace {trace}"))?;
        Ok((opened(place)?, file as usize))
    }

    /// What tells these rows from all others that a part could be read for.
    fn key(&self) -> Result<String> {
        let Self { traces: _, level, parts: _, episodes, usable, hidden, coder } = self;
        let of = (level, episodes, usable, hidden, coder, env!("CARGO_PKG_VERSION"));
        Ok(sha256_hex(&serde_json::to_vec(&of)?))
    }

    /// The name of a part's rows by their key.
    fn name(&self, part: u32, key: &str) -> Result<String> {
        let (opened, file) = self.file(part)?;
        let hash = &opened.file(&self.level.name, file)?.sha256;
        Ok(sha256_hex(format!("{hash} {part} {key}").as_bytes()))
    }
}

/// The choices of parts. Those that are asked for may be few of those in a part's file, and need not be checked again: they are kept.
pub(super) struct Choices {
    pub(super) rows: Rows,
    key: String,
}

impl Choices {
    /// Sends the choices of a part, some whole episodes at a time.
    pub(super) fn send(&self, part: u32, send: Send<'_>) -> Result<()> {
        let Self { rows, key } = self;
        let schema = batches::schema(&rows.level);
        let make = |put: Send<'_>| rows.read_file(part, &mut |table| put(batches::of_choices(part, &table)?));
        batch_file::send_once_made(&rows.name(part, key)?, &schema, Some(CompressionType::LZ4_FRAME), make, send)
    }
}

/// Opens a trace, or finds it opened.
fn opened(place: &Place) -> Result<Arc<Opened>> {
    static OPENED: OnceLock<Mutex<HashMap<Place, Arc<Opened>>>> = OnceLock::new();
    let traces = OPENED.get_or_init(Mutex::default);
    // Nobody panics while he holds it.
    if let Some(opened) = traces.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).get(place) {
        return Ok(opened.clone());
    }
    let opened = Opened::open(&place.at)?;
    let found = &opened.trace.hash;
    if *found != place.hash {
        bail!(
            "{}: the trace's hash is {found}, it was {} when the fit began; restore it, or fit anew",
            place.at,
            place.hash
        );
    }
    let opened = Arc::new(opened);
    traces.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(place.clone(), opened.clone());
    Ok(opened)
}
