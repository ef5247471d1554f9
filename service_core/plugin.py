"""The one import for plugin authors. What stands here is stable; everything else may move.

A plugin is a module that implements hooks and is named by an entry point of the group
``touchpoint``::

    [project.entry - points.touchpoint]
    geo_example = "geo_example"

Life of a plugin: the entry point is imported (keep that cheap) -> its hooks are asked once ->
the registry is frozen -> a URL of the settings picks an adapter -> ``open`` builds it ->
``start()`` -> work -> ``aclose()``.
"""

from service_core.access.model import Credential as Credential
from service_core.access.model import CredentialKind as CredentialKind
from service_core.access.model import Identity as Identity
from service_core.access.model import Workspace as Workspace
from service_core.access.ports import Allowance as Allowance
from service_core.access.ports import Directory as Directory
from service_core.access.ports import LimiterDown as LimiterDown
from service_core.access.ports import RateLimiter as RateLimiter
from service_core.access.windows import FixedWindows as FixedWindows
from service_core.extension import Adapter as Adapter
from service_core.extension import AdapterSettings as AdapterSettings
from service_core.extension import hook as hook
from service_core.insight.attribution.ports import AttributionModel as AttributionModel
from service_core.insight.attribution.ports import DataDriven as DataDriven
from service_core.insight.attribution.ports import Fit as Fit
from service_core.insight.attribution.ports import Key as Key
from service_core.insight.attribution.ports import RuleBased as RuleBased
from service_core.insight.attribution.weigh import Step as Step
from service_core.insight.attribution.weigh import weigh as weigh
from service_core.insight.catalog import Additivity as Additivity
from service_core.insight.catalog import Dimension as Dimension
from service_core.insight.catalog import Metric as Metric
from service_core.insight.catalog import MetricUnit as MetricUnit
from service_core.insight.conversions import converts as converts
from service_core.insight.conversions import is_system as is_system
from service_core.insight.conversions import standard as standard
from service_core.insight.custom_keys import is_custom as is_custom
from service_core.insight.custom_keys import json_type as json_type
from service_core.insight.event_names import ADD_TO_CART as ADD_TO_CART
from service_core.insight.event_names import CHECKOUT_STARTED as CHECKOUT_STARTED
from service_core.insight.event_names import LEAD as LEAD
from service_core.insight.event_names import PURCHASE as PURCHASE
from service_core.insight.event_names import SIGNUP as SIGNUP
from service_core.insight.event_names import START_TRIAL as START_TRIAL
from service_core.insight.event_names import SUBSCRIBE as SUBSCRIBE
from service_core.insight.event_names import same_as as same_as
from service_core.insight.measures import DailyMean as DailyMean
from service_core.insight.measures import Difference as Difference
from service_core.insight.measures import Leaf as Leaf
from service_core.insight.measures import Measure as Measure
from service_core.insight.measures import Op as Op
from service_core.insight.measures import Operand as Operand
from service_core.insight.measures import Predicate as Predicate
from service_core.insight.measures import Ratio as Ratio
from service_core.insight.measures import Relation as Relation
from service_core.insight.measures import count as count
from service_core.insight.measures import distinct as distinct
from service_core.insight.measures import total as total
from service_core.insight.orders import CHARGE as CHARGE
from service_core.insight.orders import REFUND as REFUND
from service_core.insight.orders import moment as moment
from service_core.insight.orders import movement as movement
from service_core.insight.orders import provider as provider
from service_core.insight.orders import without_repeats as without_repeats
from service_core.insight.people.traits import IDENTIFY as IDENTIFY
from service_core.insight.people.traits import text_trait as text_trait
from service_core.insight.people.traits import traits as traits
from service_core.insight.ports import Aggregate as Aggregate
from service_core.insight.ports import Aggregates as Aggregates
from service_core.insight.ports import CohortCell as CohortCell
from service_core.insight.ports import CohortPlan as CohortPlan
from service_core.insight.ports import Cohorts as Cohorts
from service_core.insight.ports import CohortTable as CohortTable
from service_core.insight.ports import ConversionSet as ConversionSet
from service_core.insight.ports import Credit as Credit
from service_core.insight.ports import EventLog as EventLog
from service_core.insight.ports import EventName as EventName
from service_core.insight.ports import EventPage as EventPage
from service_core.insight.ports import Events as Events
from service_core.insight.ports import FunnelOrder as FunnelOrder
from service_core.insight.ports import FunnelPlan as FunnelPlan
from service_core.insight.ports import Funnels as Funnels
from service_core.insight.ports import FunnelStep as FunnelStep
from service_core.insight.ports import FunnelTable as FunnelTable
from service_core.insight.ports import Grid as Grid
from service_core.insight.ports import LiveVisitor as LiveVisitor
from service_core.insight.ports import Path as Path
from service_core.insight.ports import PathPlan as PathPlan
from service_core.insight.ports import Paths as Paths
from service_core.insight.ports import People as People
from service_core.insight.ports import PeoplePage as PeoplePage
from service_core.insight.ports import Person as Person
from service_core.insight.ports import Profile as Profile
from service_core.insight.ports import PropertyKey as PropertyKey
from service_core.insight.ports import QueryTimeout as QueryTimeout
from service_core.insight.ports import Scan as Scan
from service_core.insight.ports import Sort as Sort
from service_core.insight.ports import StoreUnavailable as StoreUnavailable
from service_core.insight.ports import Touch as Touch
from service_core.insight.ports import Weighting as Weighting
from service_core.insight.predicates import meets as meets
from service_core.insight.stitch import Owners as Owners
from service_core.insight.stitch import stitch as stitch
from service_core.insight.stitch import user_id as user_id
from service_core.insight.touches import Visit as Visit
from service_core.insight.touches import visits as visits
from service_core.insight.trailing import trailing as trailing
from service_core.intake.model import CAMPAIGN_COLUMNS as CAMPAIGN_COLUMNS
from service_core.intake.model import COLUMNS as COLUMNS
from service_core.intake.model import PAGE_VIEWS as PAGE_VIEWS
from service_core.intake.model import Arrival as Arrival
from service_core.intake.model import Channel as Channel
from service_core.intake.model import Event as Event
from service_core.intake.model import LedgerRow as LedgerRow
from service_core.intake.model import Quarantined as Quarantined
from service_core.intake.model import Queued as Queued
from service_core.intake.model import Reason as Reason
from service_core.intake.ports import EventStore as EventStore
from service_core.intake.ports import Offer as Offer
from service_core.intake.ports import QueueFailed as QueueFailed
from service_core.intake.ports import QueueState as QueueState
from service_core.intake.ports import SessionKey as SessionKey
from service_core.intake.ports import SessionState as SessionState
from service_core.kernel.clock import Clock as Clock
from service_core.kernel.clock import system_clock as system_clock
from service_core.kernel.errors import StartupError as StartupError
from service_core.kernel.money import split as split
from service_core.kernel.operations import Operation as Operation
from service_core.kernel.operations import Scope as Scope
from service_core.kernel.operations import operation as operation
from service_core.kernel.ranges import Buckets as Buckets
from service_core.kernel.ranges import Span as Span
from service_core.kernel.ranges import Stretch as Stretch
from service_core.kernel.ranges import Unit as Unit
