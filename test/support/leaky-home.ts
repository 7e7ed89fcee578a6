// A session that holds one secret at every place a text can come from, and what shows whether any of it got out.

import { chatLog } from './chat-log.ts'
import { type Home, makeHome } from './homes.ts'
import { invented } from './invented-secrets.ts'

/** The secret: a token of GitHub that nobody was given. */
export const SECRET = `ghp_${invented(36)}`

/** Characters of the secret that are already a leak. */
const LEAK_CHARACTERS = 8

/** The id of the session. */
export const LEAKY = 'leaky-session'

/** What the program prints in the place of the secret. */
export const PLACEHOLDER = '[redacted:github-token]'

/** A root with the session: title, directory, user, assistant, checkpoint, shadowed messages, a result of a tool. */
export function makeLeakyHome(): Home {
  const home = makeHome()
  home.write(leakyLog(LEAKY))
  return home
}

/** Its log. The checkpoint takes the place of the first two messages. */
export function leakyLog(id: string): string {
  return chatLog(
    id,
    [
      { title: `Use ${SECRET} for login` },
      { user: `shadowed question with ${SECRET} in it` },
      { assistant: `shadowed answer: ${SECRET}` },
      { checkpoint: `Summary: the token is ${SECRET}.`, from: 1, to: 2, sources: [1, 2] },
      { user: `${'a'.repeat(700)} ${SECRET} ${'b'.repeat(700)}` },
      { tool: `GITHUB_TOKEN=${SECRET}\n` },
      { assistant: `I see \`${SECRET}\` twice: "${SECRET}".` },
    ],
    `/work/${SECRET}/app`,
  )
}

/** The pieces of the secret in these outputs; none when nothing leaked. */
export function leaksIn(output: string): string[] {
  const pieces = Array.from({ length: SECRET.length - LEAK_CHARACTERS + 1 }, (_, at) =>
    SECRET.slice(at, at + LEAK_CHARACTERS),
  )
  return pieces.filter((piece) => output.includes(piece))
}
