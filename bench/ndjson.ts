// The ndjson package, and the same fold over every parsed row.

import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import ndjson from 'ndjson'
import { isViolation, SurfaceFold } from '../src/fold/fold.ts'

interface Row {
  readonly version: number
  readonly seq: number
  readonly time: number
  readonly type: 'user/message'
  readonly data: { readonly message?: Message } & Message
  readonly surfaceOp: unknown
  readonly sourceEventSeqs: unknown
}

interface Message {
  readonly content: readonly { readonly type: string; readonly text?: string }[]
}

/** Folds the log at `path` and joins the texts of its messages. */
export async function foldWithNdjson(path: string): Promise<string> {
  const rows = createReadStream(path).pipe(ndjson.parse())
  let fold: SurfaceFold | undefined
  rows.on('data', (row: Row) => {
    if (!fold) fold = new SurfaceFold(row.version)
    else if (row.surfaceOp !== undefined) {
      const plan = fold.plan({
        ...row,
        data: () => row.data,
        message: () => undefined as never,
        counted: () => undefined,
        release: () => undefined,
      })
      if (isViolation(plan)) throw new Error(plan.message)
      fold.apply(plan)
    }
  })
  await once(rows, 'end')
  let text = ''
  for (const event of fold?.events() ?? []) {
    if (event.type === ('tool/result' as string)) continue
    const data = event.data() as Row['data']
    for (const block of (data.message ?? data).content) if (block.type === 'text') text += block.text
  }
  return text
}
