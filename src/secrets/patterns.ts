// The project's own table of tokens that show what they are by their first characters. Literal first, pattern second: a
// pattern is tried only where its literal stands, on what follows it. Every quantifier has an upper bound.

import type { SecretKind } from './kinds.ts'

/** How tokens of one sort look. */
export interface TokenPattern {
  readonly kind: SecretKind
  /** What the text must hold for the pattern to be tried at all; the match begins with it. */
  readonly literal: string
  /** The rest of the match after the literal, as the source of a regular expression. */
  readonly rest: string
  /** The group of `rest` that is the secret; absent, the whole match is. */
  readonly group?: number
  /** Whether `literal` may follow a letter or a digit: it is no beginning of a word. */
  readonly inside?: true
  /** A last look at the secret, for what a pattern cannot tell. */
  readonly accepts?: (secret: string) => boolean
}

/** Not followed by more of the same token. */
const END = '(?![A-Za-z0-9_-])'

const word = (least: number, most = 255) => `[A-Za-z0-9]{${least},${most}}${END}`
const url = (least: number, most = 255) => `[A-Za-z0-9_-]{${least},${most}}`
const hex = (count: number) => `[0-9a-f]{${count}}${END}`

const hasDigit = (secret: string) => /\d/.test(secret) && /[A-Za-z]/.test(secret)

/** Whether base64 says `user:password`. */
function isUserAndPassword(secret: string): boolean {
  return /^[\x20-\x39\x3b-\x7e]{1,256}:[\x20-\x7e]{3,}$/.test(atob(secret))
}

/** Base64 as `atob` takes it: whole groups of four. */
const BASE64 = '((?:[A-Za-z0-9+/]{4}){2,512}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)(?![A-Za-z0-9+/=])'

const SLACK_PART = '[A-Za-z0-9]{1,255}'

/** Characters of a password in a URL. A slash is none: `http://host:80/a@b` has a port. */
const PASSWORD = '[^\\s\\x00-\\x1f/"\'`<>\\\\]'

/** The table, by kind. */
export const TOKEN_PATTERNS: readonly TokenPattern[] = [
  { kind: 'age-key', literal: 'AGE-SECRET-KEY-', rest: `(?:PQ-)?1[A-Z0-9]{50,4096}` },
  { kind: 'alibaba-key', literal: 'LTAI', rest: word(12, 24), accepts: hasDigit },
  { kind: 'atlassian-token', literal: 'ATATT3', rest: '[A-Za-z0-9_=-]{40,400}' },
  { kind: 'atlassian-token', literal: 'ATCTT3', rest: '[A-Za-z0-9_=-]{40,400}' },
  { kind: 'atlassian-token', literal: 'ATBB', rest: '[A-Za-z0-9_=-]{24,200}', accepts: hasDigit },
  ...['AKIA', 'ASIA', 'ABIA', 'ACCA'].map(
    (literal): TokenPattern => ({ kind: 'aws-key-id', literal, rest: `[A-Z0-9]{16}${END}` }),
  ),
  { kind: 'azure-secret', literal: 'AccountKey=', rest: '([A-Za-z0-9+/]{40,120}={0,2})', group: 1 },
  { kind: 'azure-secret', literal: 'SharedAccessKey=', rest: '([A-Za-z0-9+/]{40,120}={0,2})', group: 1 },
  { kind: 'azure-secret', literal: 'sig=', rest: '([A-Za-z0-9%+/]{40,120}(?:%3[dD]|=))', group: 1 },
  { kind: 'brevo-key', literal: 'xkeysib-', rest: '[0-9a-f]{64}-[A-Za-z0-9]{16}' },
  { kind: 'buildkite-token', literal: 'bkua_', rest: hex(40) },
  { kind: 'cerebras-key', literal: 'csk-', rest: word(40, 80), accepts: hasDigit },
  { kind: 'circleci-token', literal: 'CCIPAT_', rest: '[A-Za-z0-9]{10,40}_[0-9a-f]{40}' },
  ...['dop', 'doo', 'dor'].map(
    (name): TokenPattern => ({ kind: 'digitalocean-token', literal: `${name}_v1_`, rest: hex(64) }),
  ),
  {
    kind: 'discord-webhook',
    literal: '/api/webhooks/',
    rest: `[0-9]{17,20}/(${url(60, 100)})`,
    group: 1,
    inside: true,
  },
  {
    kind: 'docker-auth',
    literal: '"auth',
    rest: `\\\\?"\\s{0,8}:\\s{0,8}\\\\?"${BASE64}`,
    group: 1,
    inside: true,
    accepts: isUserAndPassword,
  },
  { kind: 'docker-token', literal: 'dckr_oat_', rest: url(27, 64) },
  ...['pt', 'st', 'ct', 'sa', 'scim', 'audit'].map(
    (name): TokenPattern => ({
      kind: 'doppler-token',
      literal: `dp.${name}.`,
      rest: `(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}${END}`,
    }),
  ),
  { kind: 'dynatrace-token', literal: 'dt0c01.', rest: '[A-Z0-9]{24}\\.[A-Z0-9]{64}' },
  { kind: 'elevenlabs-key', literal: 'sk_', rest: hex(48) },
  { kind: 'fly-token', literal: 'fm2_', rest: '[A-Za-z0-9+/]{100,4096}={0,2}' },
  { kind: 'fly-token', literal: 'fo1_', rest: url(43, 64) },
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'].map(
    (literal): TokenPattern => ({ kind: 'github-token', literal, rest: '[A-Za-z0-9_]{36,255}' }),
  ),
  { kind: 'github-token', literal: 'github_pat_', rest: '[A-Za-z0-9_]{60,255}' },
  ...['glrt-', 'gldt-', 'glptt-', 'glcbt-', 'glsoat-', 'glft-', 'glimt-', 'glagent-', 'gloas-', 'glpat-'].map(
    (literal): TokenPattern => ({
      kind: 'gitlab-token',
      literal,
      rest: '[A-Za-z0-9_-]{20,255}(?:\\.[A-Za-z0-9]{2,16}){0,3}',
    }),
  ),
  { kind: 'google-key', literal: 'AIza', rest: `[A-Za-z0-9_-]{35}${END}` },
  { kind: 'google-oauth', literal: 'GOCSPX-', rest: url(28, 40) },
  { kind: 'google-oauth', literal: 'ya29.', rest: url(40, 2048) },
  { kind: 'heroku-key', literal: 'HRKU-', rest: url(36, 80) },
  { kind: 'huggingface-token', literal: 'hf_', rest: word(34, 40) },
  { kind: 'huggingface-token', literal: 'api_org_', rest: word(34, 40) },
  {
    kind: 'jwt',
    literal: 'eyJ',
    rest: '(?<![_-]eyJ)[A-Za-z0-9_-]{8,16384}\\.[A-Za-z0-9_-]{8,16384}(?:\\.[A-Za-z0-9_-]{0,16384}){1,3}',
  },
  ...['lsv2_pt_', 'lsv2_sk_'].map(
    (literal): TokenPattern => ({ kind: 'langsmith-key', literal, rest: '[0-9a-f]{32}_[0-9a-f]{10}' }),
  ),
  { kind: 'linear-key', literal: 'lin_oauth_', rest: word(32, 128) },
  { kind: 'mailgun-key', literal: 'key-', rest: hex(32) },
  { kind: 'netlify-token', literal: 'nfp_', rest: word(36, 80) },
  { kind: 'new-relic-key', literal: 'NRAK-', rest: `[A-Z0-9]{27}${END}` },
  { kind: 'notion-token', literal: 'secret_', rest: `[A-Za-z0-9]{43}${END}` },
  { kind: 'nvidia-key', literal: 'nvapi-', rest: url(60, 80) },
  { kind: 'openai-key', literal: 'sk-proj-', rest: url(20, 255), accepts: hasDigit },
  { kind: 'openai-key', literal: 'sk-svcacct-', rest: url(20, 255), accepts: hasDigit },
  { kind: 'openai-key', literal: 'sk-admin-', rest: url(20, 255), accepts: hasDigit },
  { kind: 'anthropic-key', literal: 'sk-ant-', rest: url(20, 255), accepts: hasDigit },
  { kind: 'openrouter-key', literal: 'sk-or-', rest: url(32, 255), accepts: hasDigit },
  { kind: 'sk-key', literal: 'sk-', rest: `(?:[a-z]{2,8}-){0,2}[A-Za-z0-9]{20,255}${END}`, accepts: hasDigit },
  { kind: 'sk-key', literal: 'sk-lf-', rest: '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}' },
  { kind: 'perplexity-key', literal: 'pplx-', rest: word(40, 80) },
  { kind: 'pinecone-key', literal: 'pcsk_', rest: '[A-Za-z0-9_]{40,100}' },
  ...['pscale_tkn_', 'pscale_pw_', 'pscale_oauth_'].map(
    (literal): TokenPattern => ({ kind: 'planetscale-token', literal, rest: '[A-Za-z0-9_.=-]{32,64}' }),
  ),
  { kind: 'posthog-key', literal: 'phx_', rest: word(40, 64) },
  { kind: 'postman-key', literal: 'PMAK-', rest: '[0-9a-f]{24}-[0-9a-f]{34}' },
  { kind: 'pulumi-token', literal: 'pul-', rest: hex(40) },
  { kind: 'pypi-token', literal: 'pypi-', rest: `AgE${url(50, 1024)}` },
  { kind: 'replicate-token', literal: 'r8_', rest: word(37, 40) },
  { kind: 'rubygems-key', literal: 'rubygems_', rest: hex(48) },
  { kind: 'sendgrid-key', literal: 'SG.', rest: `[A-Za-z0-9_-]{22}\\.[A-Za-z0-9_-]{43}${END}` },
  { kind: 'sentry-token', literal: 'sntrys_', rest: 'eyJ[A-Za-z0-9+/=_-]{80,600}' },
  { kind: 'sentry-token', literal: 'sntryu_', rest: hex(64) },
  ...['xoxb-', 'xoxp-', 'xoxa-', 'xoxo-', 'xoxr-', 'xoxs-', 'xoxc-', 'xoxd-'].map(
    (literal): TokenPattern => ({
      kind: 'slack-token',
      literal,
      rest: `${SLACK_PART}(?:[-%][A-Za-z0-9%]{1,255}){1,8}`,
      accepts: hasDigit,
    }),
  ),
  { kind: 'slack-token', literal: 'xapp-', rest: `[0-9]-${SLACK_PART}(?:-${SLACK_PART}){1,4}` },
  { kind: 'slack-token', literal: 'xoxe', rest: '[.-](?:xox[bp]-)?[0-9]-[A-Za-z0-9]{40,255}' },
  {
    kind: 'slack-webhook',
    literal: 'hooks.slack.com/',
    rest: '(?:services|workflows|triggers)/([A-Za-z0-9]{6,40}/[A-Za-z0-9]{6,40}/[A-Za-z0-9]{16,64}(?:/[A-Za-z0-9]{16,64})?)',
    group: 1,
  },
  { kind: 'square-token', literal: 'sq0atp-', rest: url(22, 40) },
  { kind: 'square-token', literal: 'sq0csp-', rest: url(43, 60) },
  ...['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'sk_org_'].map(
    (literal): TokenPattern => ({ kind: 'stripe-key', literal, rest: '[A-Za-z0-9_]{20,255}', accepts: hasDigit }),
  ),
  { kind: 'stripe-key', literal: 'whsec_', rest: '[A-Za-z0-9+/]{28,128}={0,2}', accepts: hasDigit },
  { kind: 'supabase-key', literal: 'sbp_', rest: '(?:v0_)?[0-9a-f]{40}' },
  { kind: 'supabase-key', literal: 'sb_secret_', rest: url(24, 64) },
  { kind: 'tailscale-key', literal: 'tskey-', rest: `[a-z]{2,12}-[A-Za-z0-9]{8,32}(?:CNTRL)?-[A-Za-z0-9]{16,64}` },
  { kind: 'tavily-key', literal: 'tvly-', rest: `(?:dev-|prod-)?${url(28, 64)}`, accepts: hasDigit },
  { kind: 'twilio-key', literal: 'SK', rest: hex(32) },
  { kind: 'xai-key', literal: 'xai-', rest: word(60, 120) },
  { kind: 'bearer-token', literal: 'Bearer ', rest: '([A-Za-z0-9._~+/-]{16,4096}={0,2})', group: 1, accepts: hasDigit },
  { kind: 'bearer-token', literal: 'bearer ', rest: '([A-Za-z0-9._~+/-]{16,4096}={0,2})', group: 1, accepts: hasDigit },
  { kind: 'basic-auth', literal: 'Basic ', rest: BASE64, group: 1, accepts: isUserAndPassword },
  { kind: 'basic-auth', literal: 'basic ', rest: BASE64, group: 1, accepts: isUserAndPassword },
  { kind: 'url-password', literal: '://', rest: `([A-Za-z0-9_-]{20,255}):x-oauth-basic@`, group: 1, inside: true },
  {
    kind: 'url-password',
    literal: '://',
    rest: `([0-9a-f]{40}|[A-Za-z0-9]{52})@`,
    group: 1,
    inside: true,
    accepts: hasDigit,
  },
  {
    kind: 'url-password',
    literal: '://',
    rest: `[^\\s:@/?#"'\`<>[\\\\]{0,128}:(?!\\d{1,5}[?#])(${PASSWORD}{4,256})@(?=[A-Za-z0-9[{$<%])`,
    group: 1,
    inside: true,
    accepts: (secret) => !isPasswordWord(secret),
  },
]

/** What documentation writes where the password of a URL goes. */
function isPasswordWord(secret: string): boolean {
  return /^(?:[$%{(<[].*|(?:my|the|db|your|some)?[-_]?(?:pass|passwd|password|pw|pwd|secret|token|key|api[-_]?key)|foo|bar|baz|user|username|root|postgres|admin|test|guest|x-oauth-basic|[a-z])$/i.test(
    secret,
  )
}

/** Tokens whose telling part stands in their middle: the literal is looked for in the text, then the pattern. */
export const INNER_PATTERNS: readonly {
  kind: SecretKind
  literal: string
  pattern: RegExp
  accepts?: (secret: string) => boolean
}[] = [
  {
    kind: 'telegram-token',
    literal: ':AA',
    pattern: /(?<![A-Za-z0-9])(?:bot)?([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])/dg,
  },
  {
    kind: 'azure-secret',
    literal: 'Q~',
    pattern: /(?<![A-Za-z0-9_.~-])([A-Za-z0-9_.~-]{3}[0-9]Q~[A-Za-z0-9_.~-]{31,34})(?![A-Za-z0-9_.~-])/dg,
  },
  {
    kind: 'terraform-token',
    literal: '.atlasv1.',
    pattern: /(?<![A-Za-z0-9])([A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70})/dg,
  },
  { kind: 'mailchimp-key', literal: '-us', pattern: /(?<![A-Za-z0-9])([0-9a-f]{32}-us[0-9]{1,2})(?![A-Za-z0-9])/dg },
  {
    kind: 'discord-token',
    literal: '.',
    pattern: /(?<![A-Za-z0-9_.-])([MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40})(?![A-Za-z0-9_.-])/dg,
    accepts: hasDigit,
  },
  {
    kind: 'command-password',
    literal: 'curl',
    pattern:
      /\bcurl\b(?:[^\n\\|;]|\\\n|\\"){0,500}?\s(?:-u|--user|--proxy-user)[ =]?\\?["']?[^\s:"'$<{@/\\]{1,128}:([^\s"'`$<{\\][^\s"'`\\]{2,255})/dg,
    accepts: (secret) => !isPasswordWord(secret),
  },
  {
    kind: 'command-password',
    literal: 'sshpass',
    pattern: /\bsshpass\s{1,4}-p\s{0,4}\\?["']?([^\s"'`$<{\\)\],;][^\s"'`\\]{2,255})/dg,
    accepts: (secret) => !isPasswordWord(secret),
  },
]
