package distill;

import com.codahale.metrics.MetricRegistry;
import distill.live.ClusterListener;
import distill.live.Installation;
import java.util.Collections;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;

/**
 * Lets a distilled student order the stages of an unmodified Spark application: {@code spark.plugins=distill.Plugin}. What it is told
 * stands in {@link distill.live.Settings}. Whatever goes wrong here, the application runs as if the plugin were not there.
 */
public final class Plugin implements SparkPlugin {
    @Override
    public DriverPlugin driverPlugin() {
        return new Driver();
    }

    @Override
    public ExecutorPlugin executorPlugin() {
        return null;
    }

    private static final class Driver implements DriverPlugin {
        private final ClusterListener listener = new ClusterListener();
        private SparkContext context;
        private Installation installation;

        /** Comes before there is a scheduler. */
        @Override
        public Map<String, String> init(SparkContext context, PluginContext plugin) {
            this.context = context;
            // In a queue of its own nothing is dropped because others are slow.
            context.listenerBus().addToQueue(listener, "distill");
            return Collections.emptyMap();
        }

        /** Comes when the scheduler has started, and before there is a job. */
        @Override
        public void registerMetrics(String application, PluginContext plugin) {
            MetricRegistry metrics = plugin.metricRegistry();
            installation = Installation.of(context, listener, metrics);
        }

        @Override
        public void shutdown() {
            if (installation != null) {
                installation.close();
            }
        }
    }
}
