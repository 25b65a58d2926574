/** What `sip-hash.ts` uses of WebAssembly. The types of Node lack it, and those of browsers declare much else. */
declare namespace WebAssembly {
  interface Memory {
    readonly buffer: ArrayBuffer
    /** Adds pages of 64 KiB. `buffer` is another one then. */
    grow(pages: number): number
  }
  class Module {
    constructor(bytes: Uint8Array)
  }
  class Instance {
    constructor(module: Module)
    readonly exports: unknown
  }
}
