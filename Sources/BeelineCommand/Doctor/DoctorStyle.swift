// SPDX-License-Identifier: Apache-2.0

/// The style sheet of ``DoctorPage``, with light and dark colours for narrow and wide screens.
enum DoctorStyle {
    static let sheet = """
        :root {
          --page: #f6f7f9; --card: #fff; --ink: #16181d; --soft: #5b6270; --line: #dfe3ea;
          --good: #14733b; --bad: #b3261e; --dead: #8a5a00;
          --good-back: #e3f4e8; --bad-back: #fbe6e4; --dead-back: #fdf1d8;
          --tcp: #3b6fd4; --tls: #7a4fc4; --wait: #23948a; --lost: #c9ced8;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #111318; --card: #1b1e25; --ink: #e8eaf0; --soft: #9aa2b1; --line: #2d323c;
            --good: #6fd594; --bad: #ff8f85; --dead: #f0bd5c;
            --good-back: #14301f; --bad-back: #3a1a18; --dead-back: #35290f;
            --tcp: #6d9bf5; --tls: #a98af0; --wait: #4cc2b7; --lost: #4a5160;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
        main { max-width: 68rem; margin: 0 auto; padding: 1.25rem 1rem 3rem; }
        h1 { font-size: clamp(1.1rem, 5vw, 1.4rem); margin: .5rem 0 1rem; overflow-wrap: anywhere; }
        h2 { font-size: 1.1rem; margin: 2rem 0 .75rem; }
        h3 { font-size: .95rem; margin: 0; overflow-wrap: anywhere; }
        p { margin: .25rem 0; overflow-wrap: anywhere; }
        ul { margin: .5rem 0 0; padding-left: 1.2rem; }
        li { margin: .2rem 0; overflow-wrap: anywhere; }
        code { font: .9em ui-monospace, monospace; }
        .small { color: var(--soft); font-size: .85rem; font-weight: normal; }
        .verdict { padding: 1rem; border-radius: .6rem; border-left: .35rem solid; }
        .well { background: var(--good-back); border-color: var(--good); }
        .attention { background: var(--dead-back); border-color: var(--dead); }
        .broken { background: var(--bad-back); border-color: var(--bad); }
        .cards { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(min(15rem, 100%), 1fr)); }
        .wide { grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); }
        article, .row { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; }
        article ul { list-style: none; padding: 0; }
        .row { margin-bottom: .6rem; }
        .row p { color: var(--soft); font-size: .9rem; }
        .none { color: var(--bad); }
        .refused { border-color: var(--bad); }
        .mark { display: inline-block; width: 1.35em; text-align: center; border-radius: .3em; font-size: .85em; }
        .good { color: var(--good); background: var(--good-back); }
        .bad { color: var(--bad); background: var(--bad-back); }
        .dead { color: var(--dead); background: var(--dead-back); }
        .track { position: relative; height: .8rem; margin: .5rem 0; border-radius: .2rem; background: var(--page); overflow: hidden; }
        .track i { position: absolute; top: 0; bottom: 0; min-width: 2px; }
        .tcp { background: var(--tcp); } .tls { background: var(--tls); } .wait { background: var(--wait); }
        .lost { background: var(--lost); }
        .legend { font-size: .85rem; margin-bottom: .5rem; }
        .legend [class]:not(.small) { background: none; margin-right: .6rem; white-space: nowrap; }
        .legend [class]:not(.small)::before { content: ""; display: inline-block; width: .8em; height: .8em; margin-right: .35em; }
        .legend .tcp::before { background: var(--tcp); } .legend .tls::before { background: var(--tls); }
        .legend .wait::before { background: var(--wait); } .legend .lost::before { background: var(--lost); }
        dl { display: grid; grid-template-columns: auto 1fr; gap: .2rem .8rem; margin: .5rem 0 0; font-size: .9rem; }
        dt { color: var(--soft); }
        dd { margin: 0; overflow-wrap: anywhere; }
        """
}
