import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Mail } from './mail.ts'

/** How many mails a mailbox keeps, and of how many bytes together; the oldest make room. */
interface MailboxLimits {
  mails: number
  bytes: number
}

/** A folder of mails, one file each, which survive a restart. */
export interface Mailbox {
  /** Keeps a mail; once this settles, the mail is on disk. */
  add(mail: Omit<Mail, 'id' | 'received_at'>): Promise<void>
  /** All mails, newest first. */
  list(): Mail[]
  find(id: string): Mail | undefined
}

const LIMITS: MailboxLimits = { mails: 1000, bytes: 64 * 1024 * 1024 }

/** Opens the mailbox in a folder, which is made where it is missing. Files in it that are no mails are left alone. */
export async function openMailbox(folder: string, limits = LIMITS): Promise<Mailbox> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const kept = await readFolder(folder)

  /** Removes the oldest mails until the limits hold again. The newest stays whatever its size. */
  async function makeRoom(): Promise<void> {
    let bytes = kept.reduce((sum, { size }) => sum + size, 0)
    while (kept.length > 1 && (kept.length > limits.mails || bytes > limits.bytes)) {
      const oldest = kept.shift()
      if (oldest === undefined) return
      bytes -= oldest.size
      await rm(fileOf(folder, oldest.mail.id), { force: true })
    }
  }

  await makeRoom()
  let lastId = Number(kept.at(-1)?.mail.id ?? 0)
  return {
    async add(received) {
      // Two mails of one millisecond, or of a clock that was set back, still differ and keep their order.
      lastId = Math.max(Date.now(), lastId + 1)
      const mail: Mail = { id: String(lastId), ...received, received_at: new Date(lastId).toISOString() }
      const text = JSON.stringify(mail)
      const file = fileOf(folder, mail.id)
      await writeFile(`${file}.part`, text, { mode: 0o600 })
      await rename(`${file}.part`, file)
      kept.push({ mail, size: text.length })
      kept.sort((a, b) => Number(a.mail.id) - Number(b.mail.id))
      await makeRoom()
    },
    list: () => kept.map(({ mail }) => mail).reverse(),
    find: (id) => kept.find(({ mail }) => mail.id === id)?.mail,
  }
}

interface KeptMail {
  mail: Mail
  /** Length of the file, about in bytes. */
  size: number
}

/** Reads the mails of a folder, oldest first, and clears away what a crash left half written. */
async function readFolder(folder: string): Promise<KeptMail[]> {
  const kept: KeptMail[] = []
  for (const name of await readdir(folder)) {
    if (/^\d+\.json\.part$/.test(name)) await rm(join(folder, name))
    if (!/^\d+\.json$/.test(name)) continue
    const text = await readFile(join(folder, name), 'utf8')
    const mail = readStored(text)
    if (mail !== undefined) kept.push({ mail, size: text.length })
  }
  return kept.sort((a, b) => Number(a.mail.id) - Number(b.mail.id))
}

/** Undefined for a file that a power failure left without its content. */
function readStored(text: string): Mail | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fileOf(folder: string, id: string): string {
  return join(folder, `${id}.json`)
}
