// `dsh-ref mcp`: the sessions for agents, over the Model Context Protocol on standard input and output. The protocol and the
// tools are ../mcp/.

import { invalidConfig } from '../errors.ts'
import { cacheDirectory } from '../list/title-index.ts'
import { makeServer } from '../mcp/server.ts'
import { WireTransport } from '../mcp/transport.ts'
import { openTextCache } from '../search/text-cache.ts'
import { VERSION } from '../version.ts'
import { titleIndexOf } from './cache.ts'
import { spellingsOf } from './directories.ts'
import { optionsOf, text } from './options.ts'
import type { CommandBody } from './print.ts'
import { readingOptions, targetOf } from './sessions.ts'
import { hearSignals } from './signals.ts'

/** Serves until the client is gone. */
export const mcp: CommandBody = async (context, _, options) => {
  const given = optionsOf(options, { target: text(), cwd: text() })
  if (context.stdin.isTerminal) {
    throw invalidConfig('mcp speaks with an agent on standard input, which is a terminal; see "dsh-ref help agents"')
  }
  const reading = readingOptions(context, options)
  const openIndex = () => (options.cache === false ? undefined : titleIndexOf(given.target, context, reading.roots))
  // A place where nothing may be written is refused before anybody asks.
  openIndex()
  const { target, issues } = await targetOf(given.target, context, reading)
  await context.print.issues(issues)
  const { signal: _signal, ...forRequests } = reading
  const server = makeServer(
    { name: 'dsh-ref', version: VERSION },
    {
      reading: forRequests,
      cwds: given.cwd === undefined ? undefined : spellingsOf(given.cwd, context),
      target,
      openIndex,
      scan: context.secrets?.rules.redacts ? context.secrets.scan : undefined,
      openTexts: () => openTextCache(cacheDirectory(context.env, context.home), { undisturbed: hearSignals }),
    },
  )
  // A line that is no message is said where nobody takes it for one.
  server.onerror = (error) => void context.print.note(`A message could not be used: ${error.message}`)
  const transport = new WireTransport({ input: context.stdin.chunks(), write: (line) => context.print.out(line) })
  await server.connect(transport)
  try {
    await transport.ended
  } finally {
    // Requests under way are cancelled with it.
    await server.close()
  }
}
