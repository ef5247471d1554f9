"""Resources of a workspace: trackable links, script proposals, rules, reports, dashboards, analyses, segments, share links."""
