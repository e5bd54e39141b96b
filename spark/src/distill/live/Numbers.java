package distill.live;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Histogram;
import com.codahale.metrics.MetricRegistry;

/** What the plugin counts, in Spark's own metric system as {@code driver.plugin.distill.Plugin.*}. */
final class Numbers {
    /** Offers of cores that reached a waiting task. */
    final Counter offers;
    /** Rounds of questions that the student answered. */
    final Counter decisions;
    /** Times that Spark's own order held, or that of the fallback, since the student could not be asked or failed. */
    final Counter fallbacks;
    /** Answers that took more than 2 ms. */
    final Counter late;
    /** Times that a task set had been passed over for long and was put first. */
    final Counter passedOver;
    /** Rounds in which Spark did what the student would have begun with, in a shadow. */
    final Counter agreed;
    /** Lines that the log lost, as the disk was slower than the cluster. */
    final Counter lostLines;
    /** How long an offer took, questions and answers included, us. */
    final Histogram offerMicros;
    /** How long the student took for a round, us. */
    final Histogram decisionMicros;

    Numbers(MetricRegistry registry) {
        offers = registry.counter("offers");
        decisions = registry.counter("decisions");
        fallbacks = registry.counter("fallbacks");
        late = registry.counter("late");
        passedOver = registry.counter("passedOver");
        agreed = registry.counter("agreed");
        lostLines = registry.counter("lostLines");
        offerMicros = registry.histogram("offerMicros");
        decisionMicros = registry.histogram("decisionMicros");
    }

    /** The figures as a line to read. */
    String words() {
        return String.format(java.util.Locale.ROOT,
                "%d offers (median %.0f us, 99 %% below %.0f us), %d decisions (median %.0f us, 99 %% below %.0f us), %d fallbacks, %d late, "
                        + "%d passed over for long",
                offers.getCount(), offerMicros.getSnapshot().getMedian(), offerMicros.getSnapshot().get99thPercentile(), decisions.getCount(),
                decisionMicros.getSnapshot().getMedian(), decisionMicros.getSnapshot().get99thPercentile(), fallbacks.getCount(), late.getCount(),
                passedOver.getCount());
    }
}
