//! Rules that people wrote, after Decima's baselines (Mao et al., SIGCOMM 2019).

mod ordered;
mod plain;
mod soft;

pub(crate) use ordered::Ordered;
pub(crate) use plain::{Capped, Random};
pub(crate) use soft::{Rule, Soft, Softness};
