import { printableLines } from './printable.ts'

/**
 * The failure of a command, with a message for its user and, if that does not say it, what to type next. The exit code
 * is 1, or 2 for wrong usage.
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: 1 | 2
  readonly next: string | undefined

  constructor(message: string, exitCode: 1 | 2 = 1, next?: string) {
    super(message)
    this.exitCode = exitCode
    this.next = next
  }
}

const anotherToken = 'sluice tokens register --app APP issues another token; the present one ends at once'

/** What to type after an error of a package, by the error's name: loading their classes would slow every command. */
const nextSteps: Readonly<Record<string, string>> = {
  UnknownApp: 'sluice apps list shows the apps',
  UnauthorizedError: anotherToken,
  ForbiddenError: anotherToken,
}

/** Returns what to type after an error; undefined if only its message can say it. */
export function nextStepAfter(error: unknown): string | undefined {
  if (error instanceof Failure) return error.next
  return error instanceof Error ? nextSteps[error.name] : undefined
}

/**
 * Returns an error's message. An error without one, as Node throws it if every address of a host refuses the
 * connection, has those of its causes.
 */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}

/** Prints an error of a program on stderr, and what to type next if that is known. Returns the exit code. */
export function reportFailure(program: string, error: unknown, next?: string): 1 | 2 {
  // A progress line may have been interrupted: the error replaces it.
  const lineStart = process.stderr.isTTY ? '\r\x1b[K' : ''
  const lines = [`${program}: ${messageOf(error)}`, next ?? []].flat()
  process.stderr.write(`${lineStart}${printableLines(lines.join('\n'))}\n`)
  return error instanceof Failure ? error.exitCode : 1
}
