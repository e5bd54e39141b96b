//! What tests of this crate share.

use crate::level::{FeatureSet, Words};
use std::sync::LazyLock;

/// The features of the scenario `dag`, a good example. They come by way of JSON: that crate stands on this one as it is outside
/// of tests, whose types are others.
pub(crate) fn feature_set() -> &'static FeatureSet {
    static SET: LazyLock<FeatureSet> = LazyLock::new(|| {
        let json = serde_json::to_string(sched_distill_dag::feature::feature_set()).expect("plain data");
        serde_json::from_str(&json).expect("what was just written")
    });
    &SET
}

/// The words of that scenario, which come the same way.
pub(crate) fn words() -> Words {
    let json = serde_json::to_string(&sched_distill_dag::feature::words()).expect("plain data");
    serde_json::from_str(&json).expect("what was just written")
}
