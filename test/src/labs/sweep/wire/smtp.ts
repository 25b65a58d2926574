import { anyAnswer, type Unit, type UnitReader } from './unit.ts'

const lineEnd = '\r\n'
const messageEnd = '\r\n.\r\n'

/** Reads the commands of a mail client. The message itself is one unit. */
export function readSmtpUnits(): UnitReader {
  let rest = ''
  let isMessage = false
  return {
    push(chunk) {
      rest += chunk.toString('latin1')
      const units: Unit[] = []
      for (;;) {
        const ending = isMessage ? messageEnd : lineEnd
        const end = rest.indexOf(ending)
        if (end === -1) return units
        const text = rest.slice(0, end + ending.length)
        rest = rest.slice(text.length)
        const command = /^\w+( FROM| TO)?/i.exec(text)?.[0].toUpperCase() ?? ''
        units.push({
          bytes: Buffer.from(text, 'latin1'),
          label: isMessage ? 'the message' : command,
          answered: true,
        })
        isMessage = !isMessage && command === 'DATA'
      }
    },
    awaitAnswer: anyAnswer,
  }
}
