// Keeps the profiles of a web shop's customers up to date: one JSON document a line on stdin for each order.
//   echo '{"customer": "c-17", "total": "59.90", "at": "2026-03-01T18:30:00Z"}' |
//     SLUICE_API=https://api.example.com SLUICE_TOKEN=… node orders.mjs
import { createInterface } from 'node:readline'
import { Sluice, UnregisteredUserError } from '@sluice/client'

const sluice = new Sluice({ api: process.env.SLUICE_API ?? '', token: process.env.SLUICE_TOKEN ?? '' })

let failures = 0
for await (const line of createInterface({ input: process.stdin })) {
  try {
    await record(JSON.parse(line))
  } catch (error) {
    // A shop goes on selling. Temporary failures were repeated already.
    failures++
    console.error(`${line}: ${error.message}`)
  }
}
process.exitCode = failures > 0 ? 1 : 0

/** The values of an order replace those of the preceding one, so an order that is recorded twice does no harm. */
async function record({ customer, total, at }) {
  const entries = [
    { key: 'last_order_at', type: 'datetime', value: at },
    { key: 'last_order_total', type: 'decimal', value: Number(total) },
  ]
  try {
    await sluice.updateProfile(customer, entries)
  } catch (error) {
    if (!(error instanceof UnregisteredUserError)) throw error
    await sluice.registerUsers([customer])
    await sluice.updateProfile(customer, entries)
  }
}
