"""What intake asks about sessions before it enriches the next events."""

from collections.abc import Sequence

from plugins.events_sql.engine import Reader
from service_core.plugin import SessionKey, SessionState

_STATES = """
SELECT k.place,
  arg_min_null(s.entry_landing_page, (s.first_at, s.first_seq)),
  arg_max(s.touch, s.touch_at), arg_max(s.campaign, s.campaign_at)
FROM (SELECT unnest($1) AS workspace_id, unnest($2) AS visitor_id, unnest($3) AS session_id,
             unnest(range(len($1))) AS place) k
JOIN ids i ON i.workspace_id = CAST(k.workspace_id AS UUID) AND i.id = 'v:' || k.visitor_id
JOIN sessions s ON s.visitor_no = i.no AND s.session_id = k.session_id
GROUP BY k.place
"""


def states(keys: Sequence[SessionKey], reader: Reader) -> dict[SessionKey, SessionState]:
    """The entry page, the values of the latest event and the latest campaign of each session."""
    columns = [[str(key[0]) for key in keys], [key[1] for key in keys], [key[2] for key in keys]]
    return {
        keys[place]: SessionState(
            landing_page=landing,
            attribution_source=touch[0],
            attribution_medium=touch[1],
            channel=touch[2],
            last_campaign=None if campaign is None else tuple(campaign),
        )
        for place, landing, touch, campaign in reader.text(_STATES, columns)
    }
