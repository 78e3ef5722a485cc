declare module '*/operations.md' {
  const text: string
  export default text
}

declare module '*/standalone.js' {
  /** Path of the embedded file at run time. */
  const path: string
  export default path
}

declare module '*/config.example.toml' {
  const text: string
  export default text
}
