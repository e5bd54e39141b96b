//! Fits of distill beyond one machine's memory.
//!
//! Each pass over the data is one aggregation. `DataFusion` plans it and adds it up, on this machine or, through
//! `Ballista`, on many. What is read and what is added up is in [`work`]; nothing else here knows it.
#![warn(missing_docs)]

pub mod affinity;
pub mod aggregate;
pub mod ask;
pub mod cluster;
pub mod codec;
pub mod failure;
pub mod fit;
pub mod kept;
pub mod local;
pub mod opened;
pub mod plan;
pub mod scan;
pub mod settings;
pub mod store;
#[cfg(debug_assertions)]
pub mod toy;
pub mod work;
