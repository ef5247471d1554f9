"""Hand-written SQL for the page of 50 persons of `/users`: one statement for all columns.

The page is found first; everything else is computed for its persons only, from the events of their sessions and of
the same orders.
"""

from typing import Final

_OWNER: Final = "o.visitor_no = e.visitor_no AND e.timestamp >= o.since AND e.timestamp < o.until"
_KEYS: Final = (
    "utm_source, utm_medium, utm_campaign, utm_term, utm_content, utm_id, click_id, click_id_type, lyr"
)


def people_page(workspace: str, where: str, since: str) -> str:
    """Returns the statement.

    Args:
        workspace: the workspace of the persons.
        where: condition of the events in the span.
        since: a week before the span, as a timestamp.
    """
    own = f"workspace_id = '{workspace}'"
    return f"""
    WITH seen AS MATERIALIZED (
      SELECT coalesce(e.strong_no, o.strong_no, e.visitor_no) AS p, max(timestamp) AS t
      FROM (SELECT * FROM events WHERE {where}) e LEFT JOIN visitor_owners o ON {_OWNER} GROUP BY 1),
    page AS MATERIALIZED (
      SELECT p, id, (SELECT count(*) FROM seen) AS total FROM seen JOIN id_numbers ON number = p
      WHERE t >= (SELECT min(t) FROM (SELECT t FROM seen ORDER BY t DESC LIMIT 50)) ORDER BY t DESC, id LIMIT 50),
    mine AS MATERIALIZED (
      SELECT p AS v FROM page UNION SELECT visitor_no FROM visitor_id_pairs WHERE strong_no IN (SELECT p FROM page)),
    others AS (SELECT strong_no FROM visitor_id_pairs WHERE visitor_no IN (SELECT v FROM mine)),
    near AS MATERIALIZED (
      SELECT v FROM mine UNION SELECT visitor_no FROM visitor_id_pairs WHERE strong_no IN (SELECT strong_no FROM others)),
    holder AS MATERIALIZED (SELECT * FROM visitor_owners WHERE visitor_no IN (SELECT v FROM near)),
    did AS MATERIALIZED (
      SELECT coalesce(e.strong_no, o.strong_no, e.visitor_no) AS p, e.workspace_id, timestamp, seq, event_name,
        visitor_id, session_no, event_data, revenue, currency, order_id, is_bot, is_test,
        country, region, city, device_type, browser, os
      FROM (SELECT * FROM events WHERE {own} AND session_no IN (
        SELECT session_no FROM sessions WHERE {own} AND visitor_no IN (SELECT v FROM mine))) e
      LEFT JOIN holder o ON {_OWNER} WHERE coalesce(e.strong_no, o.strong_no, e.visitor_no) IN (SELECT p FROM page)),
    facts AS (
      SELECT p, max(timestamp) AS last_seen, count(DISTINCT session_no) AS sessions,
        count(*) FILTER (event_name IN ('$pageview', 'page_view', 'pageview')) AS pageviews, count(*) AS events,
        list_sort(list(DISTINCT visitor_id))[:1000] AS visitors,
        arg_max([visitor_id, country, region, city, device_type, browser, os], (timestamp, seq)) AS latest
      FROM did WHERE {where} GROUP BY 1),
    ever AS (
      SELECT p, min(timestamp) AS first_seen,
        list(event_data ORDER BY timestamp, seq) FILTER (event_name = '$identify') AS said
      FROM did WHERE NOT is_bot GROUP BY 1),
    deeds AS (
      SELECT p, timestamp, seq, event_name, revenue, currency, order_id, is_bot, is_test, workspace_id FROM did
      UNION ALL SELECT NULL, timestamp, seq, event_name, revenue, currency, order_id, is_bot, is_test, workspace_id
      FROM events WHERE {own} AND timestamp >= TIMESTAMP '{since}' AND (revenue IS NOT NULL OR event_name IN ('purchase', 'signup'))
        AND order_id IN (SELECT order_id FROM did) AND (timestamp, seq) NOT IN (SELECT (timestamp, seq) FROM did)),
    converted AS (
      SELECT p, count(*) AS conversions FROM (
        SELECT *, lag(timestamp) OVER (PARTITION BY event_name, order_id ORDER BY timestamp, seq) AS before FROM deeds
        WHERE timestamp >= TIMESTAMP '{since}' AND NOT is_bot AND NOT is_test AND event_name IN ('purchase', 'signup'))
      WHERE {where} AND (order_id IS NULL OR before IS NULL OR timestamp - before >= INTERVAL 7 DAY) GROUP BY 1),
    paid AS (
      SELECT p, count(*) AS orders, sum(revenue) FILTER (currency = 'USD') AS revenue,
        count(*) FILTER (currency IS DISTINCT FROM 'USD') > 0 AS foreign_money FROM (
        SELECT *, lag(timestamp) OVER (PARTITION BY order_id ORDER BY timestamp, seq) AS before FROM deeds
        WHERE timestamp >= TIMESTAMP '{since}' AND NOT is_bot AND NOT is_test AND revenue > 0)
      WHERE {where} AND (order_id IS NULL OR before IS NULL OR timestamp - before >= INTERVAL 7 DAY) GROUP BY 1),
    c AS MATERIALIZED (
      SELECT coalesce(e.strong_no, o.strong_no, e.visitor_no) AS p, e.*, [{_KEYS}] AS k,
        coalesce(utm_source, utm_campaign, click_id) IS NOT NULL AS m
      FROM (SELECT * FROM touch_candidates WHERE {own} AND session_no IN (
        SELECT session_no FROM sessions WHERE {own} AND visitor_no IN (SELECT v FROM near))) e
      LEFT JOIN holder o ON {_OWNER}),
    t AS (
      SELECT *, lag(k) OVER (PARTITION BY p, m ORDER BY timestamp, seq) AS before,
        row_number() OVER (PARTITION BY session_no ORDER BY timestamp, seq) AS place FROM c),
    touch AS (
      SELECT p, arg_min([coalesce(own_source, '(direct)'), coalesce(own_medium, '(none)'),
        coalesce(own_channel, 'direct'), {_KEYS}, referrer, landing_page], (timestamp, seq)) AS first_touch FROM t
      WHERE NOT (m AND coalesce(before = k, false) AND NOT campaign_in_url) AND (own_channel IS NOT NULL OR place = 1)
      GROUP BY 1)
    SELECT * FROM page JOIN facts USING (p) LEFT JOIN ever USING (p) LEFT JOIN converted USING (p)
    LEFT JOIN paid USING (p) LEFT JOIN touch USING (p) ORDER BY last_seen DESC, id
    """
