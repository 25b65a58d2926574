import fc from 'fast-check'

// A fault that a property notices counts at once: no search for a smaller example, and a second for each property.
fc.configureGlobal({ endOnFailure: true, interruptAfterTimeLimit: 1_000 })
