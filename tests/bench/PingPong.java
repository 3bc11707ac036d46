// SPDX-License-Identifier: Apache-2.0
// Two threads that wake one another and park, as fast as they can. For each line of its input it prints how often they did.
import java.util.concurrent.locks.LockSupport;

public final class PingPong {
    private static final Object BLOCKER = new Object();
    private static volatile int turn;
    private static volatile long turns;
    private static final Thread[] PLAYERS = new Thread[2];

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < PLAYERS.length; i++) {
            int mine = i;
            PLAYERS[i] = new Thread(() -> play(mine), "player-" + i);
            PLAYERS[i].setDaemon(true);
        }
        for (Thread player : PLAYERS)
            player.start();
        Answers.give(() -> turns);
    }

    private static void play(int mine) {
        while (true) {
            while (turn != mine)
                LockSupport.park(BLOCKER);
            turns++; // by the one whose turn it is, alone
            turn = 1 - mine;
            LockSupport.unpark(PLAYERS[1 - mine]);
        }
    }
}
