/** A subject is one header line, while what it quotes may hold anything. Gives at most 200 characters. */
export function singleLine(text: string): string {
  const line = text.replace(/\p{Cc}+/gu, ' ')
  return line.length > 200 ? `${line.slice(0, 199).toWellFormed()}…` : line
}
