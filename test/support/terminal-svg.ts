// A picture of a terminal: commands and what they printed, as SVG text.

const COLUMNS = 100
const CHARACTER_WIDTH = 8.4
const LINE_HEIGHT = 19
const MARGIN = 16

/** One command and its output. */
export interface Shown {
  readonly command: string
  readonly output: string
}

/** Draws them one below the other; lines that are too long go on in the next. */
export function terminalSvg(shown: readonly Shown[]): string {
  const lines = shown.flatMap(({ command, output }, index) => [
    ...(index === 0 ? [] : [{ text: '', isCommand: false }]),
    ...wrapped(`$ ${command}`).map((text) => ({ text, isCommand: true })),
    ...output
      .trimEnd()
      .split('\n')
      .flatMap(wrapped)
      .map((text) => ({ text, isCommand: false })),
  ])
  const width = Math.ceil(COLUMNS * CHARACTER_WIDTH + 2 * MARGIN)
  const height = lines.length * LINE_HEIGHT + 2 * MARGIN
  const texts = lines.map(({ text, isCommand }, index) => {
    const y = MARGIN + (index + 0.75) * LINE_HEIGHT
    return `<text x="${MARGIN}" y="${y}"${isCommand ? ' class="command"' : ''}>${escaped(text)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d0d7de; white-space: pre; }
.command { fill: #7ee787; }
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${texts.join('\n')}
</svg>
`
}

function wrapped(line: string): string[] {
  const characters = [...line]
  const lines: string[] = []
  for (let start = 0; start === 0 || start < characters.length; start += COLUMNS) {
    lines.push(characters.slice(start, start + COLUMNS).join(''))
  }
  return lines
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
