//! The logs of clusters in the table of a scenario's workloads.

/// The workloads of a scenario whose jobs have no inner structure: its first one, the logs of clusters that `workload::LogSpec` reads,
/// and its last one. `logs` opens them all. Their parameters are those of all logs, `own` of the scenario's cluster and of how many jobs an
/// episode has, and `more`; `chronus` may have others still. `philly` and `chronus` say what jobs of these become.
#[macro_export]
macro_rules! workloads_with_logs {
    (
        first: $first:expr,
        logs: $open:path,
        own: $own:literal,
        more: $more:literal,
        philly: $philly:literal,
        chronus: [$chronus_more:literal, $chronus:literal],
        last: $last:expr,
    ) => {
        &[
            $first,
            $crate::workloads_with_logs!(@log "philly", "", $own, $more, $philly, $open),
            $crate::workloads_with_logs!(
                @log "helios", "", $own, $more,
                "jobs of a Helios cluster, its `cluster_log.csv`, cut by time (docs/histories.md)", $open
            ),
            $crate::workloads_with_logs!(
                @log "swf", "", $own, $more,
                "jobs of a log in the Standard Workload Format, cut by time (docs/histories.md)", $open
            ),
            $crate::workloads_with_logs!(
                @log "sacct", "", $own, $more,
                "jobs that `sacct --parsable2` of Slurm printed, cut by time (docs/histories.md)", $open
            ),
            $crate::workloads_with_logs!(@log "chronus", $chronus_more, $own, $more, $chronus, $open),
            $crate::simulation::WorkloadDef::new(
                $crate::workloads_with_logs!(
                    @usage "csv",
                    ",submit=COLUMN[,start=COLUMN][,end=COLUMN][,duration=COLUMN][,gpus=COLUMN][,cpus=COLUMN][,user=COLUMN][,queue=COLUMN][,deadline=COLUMN][,within=COLUMN][,time=s|ms|min|h|date][,unit=s|ms|min|h]",
                    $own, $more
                ),
                "jobs of any table whose columns are named, cut by time (docs/histories.md)",
                $open,
            ),
            $last,
        ]
    };
    (@log $name:literal, $of_file:literal, $own:literal, $more:literal, $meaning:literal, $open:path) => {
        $crate::simulation::WorkloadDef::new(
            $crate::workloads_with_logs!(@usage $name, $of_file, $own, $more),
            $meaning,
            $open,
        )
        .that_reads(|path| $crate::workload::LogSpec::reads($name, path))
    };
    (@usage $name:literal, $of_file:literal, $own:literal, $more:literal) => {
        concat!(
            $name, ":FILE", $of_file, "[,vc=NAME][,size=N][,nodes=N]", $own,
            "[,split=time|interleaved|none][,window=TIME][,stride=TIME][,gap=TIME][,rate=1]", $more
        )
    };
}
