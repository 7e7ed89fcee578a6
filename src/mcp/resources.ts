// Sessions as resources of the protocol: each under its `dsh-session:` URI, and read as the snapshot that prepare makes.

import { invalidReference } from '../errors.ts'
import { visible } from '../render/visible.ts'
import { listInScope } from './scope.ts'
import { prepareSnapshot, type ToolContext } from './tools.ts'

/** Resources on one page of the list. */
const PAGE = 50

const MIME_TYPE = 'text/markdown'

/** How the URIs look, for clients that make them themselves. */
export const RESOURCE_TEMPLATE = {
  uriTemplate: 'dsh-session:{payload}',
  name: 'session',
  title: 'A coding-agent session',
  description: 'The bounded, untrusted snapshot of one session; list_sessions tells the URIs',
  mimeType: MIME_TYPE,
}

/** One page of the sessions of the scope; the cursor is how many came before. */
export async function listResources(cursor: string | undefined, { scope, signal }: ToolContext) {
  const start = startOf(cursor)
  const { candidates, omitted = 0 } = await listInScope(scope, { limit: start + PAGE, signal })
  const resources = candidates.slice(start).map(({ uri, label, cwd }) => ({
    uri,
    name: visible(label),
    ...(cwd !== undefined && { description: `Untrusted record of a session in ${visible(cwd)}` }),
    mimeType: MIME_TYPE,
  }))
  return { resources, ...(omitted > 0 && { nextCursor: String(start + PAGE) }) }
}

/** The snapshot of the session that a URI names. */
export async function readResource(uri: string, context: ToolContext) {
  const { text } = await prepareSnapshot([uri], undefined, context)
  return { contents: [{ uri, mimeType: MIME_TYPE, text }] }
}

function startOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  if (/^\d{1,9}$/.test(cursor)) return Number(cursor)
  throw invalidReference(`The cursor ${JSON.stringify(cursor)} is none of this list; begin without one`, { cursor })
}
