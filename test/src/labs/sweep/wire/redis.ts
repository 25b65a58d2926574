import { anyAnswer, type Unit, type UnitReader, withoutIds } from './unit.ts'

/** Commands that change nothing for others. */
const reading =
  /^(?:client|hello|info|ping|auth|select|get|mget|hget|hmget|hgetall|hexists|exists|type|script|cluster|sentinel|zcard|llen|lrange|zrange|zcount|zscore|smembers|quit|subscribe|config)\b/

export function readRedisUnits(): UnitReader {
  let rest: Buffer = Buffer.alloc(0)
  return {
    push(chunk) {
      rest = Buffer.concat([rest, chunk])
      const units: Unit[] = []
      for (;;) {
        const command = readCommand(rest)
        if (command === undefined) return units
        units.push({ bytes: rest.subarray(0, command.end), label: labelOf(command.words), answered: true })
        rest = rest.subarray(command.end)
      }
    },
    awaitAnswer: anyAnswer,
  }
}

/** Returns the first command and where it ends; undefined if it is incomplete. */
function readCommand(bytes: Buffer): { words: string[]; end: number } | undefined {
  const line = (from: number) => {
    const end = bytes.indexOf('\r\n', from)
    return end === -1 ? undefined : { number: Number(bytes.toString('latin1', from + 1, end)), end: end + 2 }
  }
  const header = line(0)
  if (header === undefined) return undefined
  const words: string[] = []
  let end = header.end
  for (let word = 0; word < header.number; word++) {
    const size = line(end)
    if (size === undefined || bytes.length < size.end + size.number + 2) return undefined
    words.push(bytes.toString('latin1', size.end, size.end + size.number))
    end = size.end + size.number + 2
  }
  return { words, end }
}

/** The commands that run a script, whose keys follow the script and their number. */
const scripts = ['eval', 'evalsha']

function labelOf([name = '', ...rest]: string[]): string | undefined {
  const command = name.toLowerCase()
  if (reading.test(command)) return undefined
  if (!scripts.includes(command)) return withoutIds(`${command} ${rest[0] ?? ''}`)
  // The digest of a script and its text name the same script by its keys.
  const keys = rest.slice(2, 2 + Number(rest[1]))
  return `script of ${keys.length} keys: ${withoutIds(`${keys[0] ?? ''} ${keys.at(-1) ?? ''}`)}`
}
