import { takeLock } from './lock.ts'

// Tries to take the lock of a folder, tells the parent process whether it has the lock, and keeps it.
const lock = takeLock(process.argv[2] ?? '')
process.send?.(lock !== undefined)
setInterval(() => lock, 60_000)
process.once('disconnect', () => process.exit())
