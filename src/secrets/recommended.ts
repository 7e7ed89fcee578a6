// The rules of secretlint's recommended preset, run without its engine (which keeps a mark of every call, and filters by
// comments in the text). A rule is run on a text only if a literal occurs that each of its patterns begins with.

import { rules as presetRules } from '@secretlint/secretlint-rule-preset-recommend'
import { blankEscapes } from './escapes.ts'
import type { Find, SecretKind } from './kinds.ts'
import { isStandIn } from './placeholder.ts'

/** What this file knows of a rule. */
interface Rule {
  readonly meta: { readonly id: string }
  create(context: RuleContext, options: object): { file(source: { content: string; filePath: string }): unknown }
}

interface RuleContext {
  createTranslator(messages: unknown): (id: string, props: Readonly<Record<string, unknown>>) => Message
  report(report: { message: Message; range: readonly [number, number] }): void
}

/** What a rule says of a find: its props hold the value. */
interface Message {
  readonly id: string
  readonly props: Readonly<Record<string, unknown>>
}

/** The rules that are used: the kind of what they find, and the literals their patterns begin with, read in their source. */
export const USED_RULES: Readonly<Record<string, { kind: SecretKind; literals: readonly string[] }>> = {
  '1password': { kind: 'onepassword-token', literals: ['ops_ey'] },
  anthropic: { kind: 'anthropic-key', literals: ['sk-ant-api0'] },
  databricks: { kind: 'databricks-token', literals: ['dapi'] },
  docker: { kind: 'docker-token', literals: ['dckr_pat_'] },
  figma: { kind: 'figma-token', literals: ['figd_'] },
  github: { kind: 'github-token', literals: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'] },
  gitlab: { kind: 'gitlab-token', literals: ['glpat-'] },
  grafana: { kind: 'grafana-token', literals: ['glc_', 'glsa_'] },
  groq: { kind: 'groq-key', literals: ['gsk_'] },
  'hashicorp-vault': { kind: 'vault-token', literals: ['hvs.', 'hvb.', 'hvr.'] },
  huggingface: { kind: 'huggingface-token', literals: ['hf_'] },
  linear: { kind: 'linear-key', literals: ['lin_api_'] },
  notion: { kind: 'notion-token', literals: ['ntn_'] },
  npm: { kind: 'npm-token', literals: ['npm_'] },
  openai: { kind: 'openai-key', literals: ['sk-proj-', 'sk-svcacct-', 'sk-admin-', 'T3BlbkFJ'] },
  shopify: { kind: 'shopify-token', literals: ['shppa_', 'shpca_', 'shpat_', 'shpss_'] },
  vercel: { kind: 'vercel-token', literals: ['vcp_', 'vci_', 'vca_', 'vcr_', 'vck_'] },
}

/** The rules that are left out, and what stands in for them. */
export const UNUSED_RULES: Readonly<Record<string, string>> = {
  aws: 'misses a secret that ends in a slash or a plus sign; named-secrets.ts',
  basicauth: 'reports the whole URL; patterns.ts finds the password',
  'database-connection-string': 'reports the whole URL; patterns.ts finds the password',
  'filter-comments': 'finds nothing, but lets a comment in the text switch findings off',
  gcp: 'reads files of .json and .p12 only, and reports all of them; private-keys.ts',
  privatekey: 'knows five headers and whole blocks; private-keys.ts',
  sendgrid: 'misses a token with more than one dash, and is slow on a long word; patterns.ts',
  slack: 'stops within `xapp-` tokens, and its pattern has no bound; patterns.ts',
}

const PREFIX = '@secretlint/secretlint-rule-'

/** No path that a rule knows: that of npm takes a text without one for a package.json, and much of it for a user. */
const FILE_PATH = 'text'

interface Scanner {
  readonly kind: SecretKind
  readonly literals: readonly string[]
  scan(text: string): void
}

/** What the rule that runs has reported; rules are run one at a time. */
let reports: { readonly value: string; readonly range: readonly [number, number] }[] = []

const CONTEXT: RuleContext = {
  createTranslator: () => (id, props) => ({ id, props }),
  report: ({ message, range }) => {
    reports.push({ value: reportedValue(message), range })
  },
}

const SCANNERS = (presetRules as readonly Rule[]).flatMap((rule): Scanner[] => {
  const used = USED_RULES[rule.meta.id.slice(PREFIX.length)]
  if (used === undefined) return []
  const { file } = rule.create(CONTEXT, {})
  return [{ ...used, scan: (content) => expectNoPromise(rule, file({ content, filePath: FILE_PATH })) }]
})

const LITERALS = new RegExp(
  SCANNERS.flatMap(({ literals }) => literals)
    .join('|')
    .replaceAll('.', '\\.'),
  'g',
)

/** All finds of the preset's rules in a text, in no order. */
export function findRecommended(text: string): Find[] {
  const occurring = new Set(text.match(LITERALS))
  if (occurring.size === 0) return []
  const scanners = SCANNERS.filter(({ literals }) => literals.some((literal) => occurring.has(literal)))
  // Both as it is written and without escapes: after a backslash, `npm_` may be a token and `ntn_` a newline before one.
  return [...new Set([text, blankEscapes(text)])].flatMap((written) =>
    scanners.flatMap((scanner) => findsOf(scanner, written)),
  )
}

function findsOf({ kind, scan }: Scanner, text: string): Find[] {
  reports = []
  scan(text)
  return reports.flatMap(({ value, range }): Find[] => {
    // The value counts, not the range: some rules report where the name before it stands.
    const start = text.indexOf(value, range[0])
    if (start === -1) throw new Error(`The rule for ${kind} reports a value that its text does not hold`)
    return isStandIn(value) ? [] : [{ kind, start, end: start + value.length }]
  })
}

/** The value in what a rule says: its props are called KEY, TOKEN or ID. */
function reportedValue({ id, props }: Message): string {
  const value = props.KEY ?? props.TOKEN ?? props.ID
  if (typeof value !== 'string' || value === '') throw new Error(`The rule's message ${id} holds no value`)
  return value
}

/** A rule that works on in the background would report when nobody listens. */
function expectNoPromise(rule: Rule, result: unknown): void {
  if (result !== undefined) throw new Error(`The rule ${rule.meta.id} does not end when it returns`)
}
