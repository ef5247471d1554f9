"""Resources of a workspace: trackable links, script proposals, rules, reports, dashboards, analyses, segments, annotations, e-mail reports, alerts, webhooks, share links."""
