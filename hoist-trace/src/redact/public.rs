//! Words that say nothing of anybody: they stay in clear wherever they stand.
//!
//! English function words, the words that protocols, schemas and APIs are made of, and the usual
//! names of states. No word of this list is also somebody's name, where that could be helped.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Whether a word (in lower case) is one of them.
pub(super) fn is_public(word: &str) -> bool {
    static ALL: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
        [ENGLISH, DATA, STATES, SOFTWARE, PROTOCOL, CODES]
            .into_iter()
            .flat_map(str::split_ascii_whitespace)
            .collect()
    });
    ALL.contains(word)
}

/// The revisions of MCP, which stay in clear where a version stands.
pub(super) const REVISIONS: [&str; 5] =
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

const ENGLISH: &str = "
a an the and or not nor no yes of to in on at by for from with without within as is are was were be
been being am has have had having do does did done doing it its itself this that these those there
here they them their theirs we our ours us you your yours he she his her hers him i me my mine who
whom whose what which when where why how if then else than so but because while until till unless
after before since again also only just very more most less least much many few some any all each
every both either neither none other others another same such own too up down out over under into
onto off about above below between through during against per via once twice now soon later first
second third last next previous new old good bad right wrong high low long short big small large
full empty half one two three four five six seven eight nine ten can could should would must shall
might cannot let lets please thanks thank hello hi sorry sure okay ok still already yet ever never
always often maybe perhaps however therefore instead rather quite almost enough even back away
together s t re ve ll d m don doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven
get got getting give given go going gone come make made making take taken need needs needed want
wants wanted like use used using uses know see seen look looked looking find found finding help
helps try tried trying tell told ask asked say said work works working keep put set show shown
happen happened mean means seem seems check checked checking provide provided provides
";

const DATA: &str = "
id ids key keys name names type types kind value values list lists item items entry entries count
counts number numbers total sum average minimum maximum min max page pages size sizes limit limits
offset cursor index order orders user users customer customers account accounts product products
variant variants option options price prices amount amounts quantity currency cost fee balance
payment payments method methods history card cards credit debit gift certificate certificates email
emails mail phone address addresses street city state country zip code codes date dates time times
timestamp datetime day days hour hours minute minutes ms start end started ended created updated
modified deleted at from until duration title titles label labels tag tags category categories
description descriptions summary text texts content contents message messages body subject comment
comments note notes reason reasons detail details info information data metadata meta field fields
column columns row rows table tables record records result results response responses request
requests query queries filter filters sort sorted search searched lookup update updates change
changes create delete remove removed add added insert edit modify read write open close send sent
receive received submit cancel return exchange transfer refund replace copy move rename list fetch
load save upload download file files folder folders directory directories path paths url urls uri
link links source target destination origin parent child children group groups team role roles
owner author member members person people human agent agents assistant system public private
internal external default defaults custom standard true false null none nil undefined unknown other
error errors warning warnings success failed failure failures fail fails fault problem problems
exception invalid valid missing required optional expected unexpected found exists exist duplicate
not allowed denied forbidden unauthorized permission permissions access timeout exceeded limit
string integer boolean object array float double char bytes byte binary hex format formats
version versions level levels mode modes step steps task tasks job jobs event events action actions
call calls tool tools function functions argument arguments parameter parameters param params input
inputs output outputs config configuration setting settings property properties attribute
attributes schema model models template templates resource resources service services server
servers client clients host hosts session sessions token tokens node nodes edge edges line lines
word words character characters position range width height weight length depth rate ratio score
percent percentage unit units currency usd eur first last given family full middle
flight flights reservation reservations passenger passengers seat seats cabin baggage baggages
bag bags insurance trip trips airport departure arrival departing arriving membership nonfree free
available availability fulfillment fulfillments tracking items stock inventory shipping shipped
color colour size material style brand model capacity storage screen memory processor
repository repositories branch branches commit commits issue issues pull merge release releases
domain command commands process unix project projects document documents report reports chat channel channels thread threads reply
question questions answer answers topic topics calendar meeting meetings contact contacts
";

const STATES: &str = "
pending processed delivered cancelled canceled completed complete incomplete active inactive closed
available unavailable confirmed unconfirmed returned requested exchanged refunded running waiting
queued ready idle paused stopped finished aborted expired draft published archived enabled disabled
on off low medium normal high critical urgent resolved unresolved approved rejected accepted
declined in progress todo blocked landed delayed flying scheduled boarding one way round trip
economy business basic regular silver gold platinum paypal cash user abort stop retail airline
airlines telecom mock orders shop store customer service no longer needed ordered mistake other
male female domestic international ascending descending asc desc left right top bottom center
";

const SOFTWARE: &str = "
http https ws wss www com org net io dev localhost json jsonl jsonrpc html htm xml csv txt md pdf
png jpg jpeg gif svg webp mp mpeg wav ogg zip gz tar yaml yml toml ini log css js ts py rs sh exe
utf ascii unicode base64 latin application image audio video multipart plain octet stream
markdown form urlencoded charset encoding gzip identity accept authorization bearer cookie user
home usr bin sbin opt tmp var lib src test tests main app api sdk cli gui web db sql node npm npx
yarn pnpm deno bun python pip uv uvx java docker run exec env arg args stdio stdin stdout stderr
sse mcp hoist proxy procedure flow commit guards context demo modelcontextprotocol redacted
claude code sonnet opus haiku gpt gemini codex openai anthropic llm nano mini pro flash turbo
traceback recent none type attribute key value runtime assertion connection refused reset peer
null pointer nan infinity utc gmt z get post put patch head options delete status ok listening
";

const PROTOCOL: &str = "
jsonrpc id method params result error code message data meta initialize initialized notifications
cancelled progress resources prompts tools tasks roots sampling elicitation logging completion
completions complete subscribe unsubscribe subscriptions listen discover ping templates list
listchanged changed updated created read get call create setlevel createmessage server client
protocolversion supportedversions supported clientinfo serverinfo capabilities instructions
experimental extensions listchanged websiteurl icons src mimetype sizes theme light dark
annotations audience priority lastmodified readonlyhint destructivehint idempotenthint
openworldhint inputschema outputschema structuredcontent iserror content type text image audio
resource link embedded blob uri uritemplate name title description nextcursor cursor
progresstoken requestid reason progress total level logger debug info notice warning alert
emergency model role user assistant maxtokens systemprompt includecontext temperature
stopsequences stopreason endturn tooluse modelpreferences hints costpriority speedpriority
intelligencepriority requestedschema action accept decline argument ref values hasmore taskid ttl
pollinterval statusmessage createdat lastupdatedat execution tasksupport resulttype input_required
inputrequests inputresponses requeststate subscriptionid elicitationid url form turnid
sessionid threadid x metadata turn clientcapabilities loglevel traceparent tracestate related
task toolchoice toolresult tooluseid
schema id ref defs definitions properties required items additionalproperties patternproperties
propertynames additionalitems prefixitems contains anyof oneof allof not if then else enum const
default examples format pattern minlength maxlength minimum maximum exclusiveminimum
exclusivemaximum multipleof minitems maxitems uniqueitems minproperties maxproperties dependencies
dependentrequired dependentschemas contentmediatype contentencoding unevaluatedproperties
deprecated readonly writeonly nullable discriminator string number integer boolean object array
null email hostname ipv4 ipv6 uuid date time draft
";

/// Codes of JSON-RPC, MCP and HTTP.
const CODES: &str = "
32700 32600 32601 32602 32603 32000 32001 32002 32003 32004 32042 32800 32801
200 201 202 204 206 301 302 303 304 307 308 400 401 402 403 404 405 406 408 409 410 413 415 422 425
429 500 501 502 503 504 508
";
